/** Where a request comes from, as far as that is known. */
export interface ClientInfo {
  readonly ipAddress: string | null;
  readonly userAgent: string | null;
}

/** For what no request caused. */
export const noClient: ClientInfo = { ipAddress: null, userAgent: null };
