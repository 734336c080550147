/** Where a request came from, as far as it is known. */
export interface ClientInfo {
  readonly ipAddress: string | null;
  readonly userAgent: string | null;
}
