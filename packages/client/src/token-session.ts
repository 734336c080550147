import { LatchkeyError } from './errors.ts';
import { authorizedCalls, type CallOptions, type Session } from './session.ts';

export interface TokenSessionOptions extends CallOptions {
  /** An access token or a key. White space around it does not count: a secret from a file often ends in a line break. */
  readonly token: string;
}

/**
 * A session for a fixed token, such as `LATCHKEY_TOKEN`. The token goes only to the
 * service and the listed origins. It is neither refreshed nor stored.
 * @throws {TypeError} if a header cannot carry the token; the message does not contain it
 * @example
 * const session = openTokenSession({ api, token: process.env.PROJECTS_TOKEN });
 */
export function openTokenSession({ token: given, ...callOptions }: TokenSessionOptions): Session {
  const { api } = callOptions;
  const token = given.trim();
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new TypeError('The token is empty, or contains a space or a character outside ASCII.');
  }
  const calls = authorizedCalls(callOptions, {
    accessToken: async () => token,
    renew: async () => {
      throw new LatchkeyError('invalid_token', `${api.server} does not accept the token.`, { status: 401 });
    },
  });
  return {
    ...calls,
    logout: async ({ everywhere = false, signal } = {}) => {
      await calls.call('logout', { ...(everywhere ? {} : { query: { scope: 'session' } }), signal });
    },
  };
}
