import type { Config } from '../config/config.ts';
import { clientAddress } from '../values/client-address.ts';
import type { ClientInfo } from '../values/client-info.ts';
import type { Exchange } from './exchange.ts';

/** In UTF-16 code units. Longer ones are truncated. */
export const maxUserAgentLength = 512;

/** The address and user agent that sessions, events and security notices record. */
export const readClientInfo = (config: Config, { request, connection }: Exchange): ClientInfo => ({
  ipAddress: clientAddress(connection.peer, request.headers.get('X-Forwarded-For'), config.trustedProxies),
  userAgent: readUserAgent(request.headers),
});

/** People read it in lists and mails, so it has no control characters, bidi overrides or split surrogate pairs. */
const readUserAgent = (headers: Headers): string | null =>
  headers
    .get('User-Agent')
    ?.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .slice(0, maxUserAgentLength)
    .replace(/\p{Cs}$/u, '') || null;
