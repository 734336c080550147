import { type ApiOptions, createApi } from './api.ts';
import type { CallOptions, Session } from './session.ts';
import { openTokenSession } from './token-session.ts';

/** `server`: default `LATCHKEY_SERVER`. */
export type EnvironmentSessionOptions = Partial<ApiOptions> & Omit<CallOptions, 'api'>;

/**
 * A session for the token in `LATCHKEY_TOKEN`, an access token or a key, which takes the place of a stored login.
 * Undefined if the variable is not set or is empty. Nothing stored is read or written.
 * @throws {TypeError} if no server is named: a token is only sent to the server it is meant for
 * @example
 * const session = sessionFromEnvironment() ?? openSession({ api, store });
 */
export function sessionFromEnvironment({
  server = process.env['LATCHKEY_SERVER'] || undefined,
  origins = [],
  fetchTimeoutMilliseconds,
  ...apiOptions
}: EnvironmentSessionOptions = {}): Session | undefined {
  const token = process.env['LATCHKEY_TOKEN'];
  if (!token) return undefined;
  if (server === undefined) {
    throw new TypeError('LATCHKEY_TOKEN needs LATCHKEY_SERVER: it is only sent to a server that is named.');
  }
  const api = createApi({ ...apiOptions, server });
  const timeout = fetchTimeoutMilliseconds === undefined ? {} : { fetchTimeoutMilliseconds };
  return openTokenSession({ api, token, origins, ...timeout });
}
