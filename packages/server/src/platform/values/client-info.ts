import { type CidrRange, clientAddress } from './client-address.ts';

/** Where a request comes from, as far as that is known. */
export interface ClientInfo {
  readonly ipAddress: string | null;
  readonly userAgent: string | null;
}

/** For what no request caused. */
export const noClient: ClientInfo = { ipAddress: null, userAgent: null };

/** In UTF-16 code units. Longer ones are truncated. */
export const maxUserAgentLength = 512;

/** The address and user agent that sessions, events and security notices record. */
export const readClientInfo = (
  trustedProxies: readonly CidrRange[],
  {
    request,
    connection,
  }: { readonly request: Request; readonly connection: { readonly peer: string | undefined } },
): ClientInfo => ({
  ipAddress: clientAddress(connection.peer, request.headers.get('X-Forwarded-For'), trustedProxies),
  userAgent: readUserAgent(request.headers),
});

/** People read it in lists and mails, so it has no control characters, bidi overrides or split surrogate pairs. */
const readUserAgent = (headers: Headers): string | null =>
  headers
    .get('User-Agent')
    ?.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .slice(0, maxUserAgentLength)
    .replace(/\p{Cs}$/u, '') || null;

/** A user agent without its version numbers, which change with every update. */
export const programOf = (userAgent: string | null): string => (userAgent ?? '').replace(/[\d._]+/g, '');
