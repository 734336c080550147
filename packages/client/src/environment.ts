import { openAgentSession, openSessionOfAgent } from './agent.ts';
import { type ApiOptions, createApi, serverAddress } from './api.ts';
import type { CallOptions, Session } from './session.ts';
import type { WantedToken } from './token-exchange.ts';
import { openTokenSession } from './token-session.ts';

/** `server`: default `LATCHKEY_SERVER`, else that of the agent. `scope` and `resource`: what a token of the agent is to allow. */
export type EnvironmentSessionOptions = Partial<ApiOptions> &
  Omit<CallOptions, 'api'> &
  Pick<WantedToken, 'scope' | 'resource'>;

/**
 * A session for the token in `LATCHKEY_TOKEN`, an access token or a key, or for tokens of the agent in `LATCHKEY_AGENT`.
 * Undefined if neither is set. Nothing stored is read or written.
 * @throws {TypeError} if both are set, or no server is named for a token, which is only sent to its own
 * @example
 * const session = sessionFromEnvironment() ?? openSession({ api, store });
 */
export function sessionFromEnvironment({
  server,
  origins,
  fetchTimeoutMs,
  scope,
  resource,
  ...apiOptions
}: EnvironmentSessionOptions = {}): Session | undefined {
  const token = setting('LATCHKEY_TOKEN');
  const address = setting('LATCHKEY_AGENT');
  if (!token && !address) return undefined;
  if (token && address) throw new TypeError('LATCHKEY_TOKEN and LATCHKEY_AGENT exclude each other.');
  const named = server ?? namedServer();
  const optionsAt = (at: string) => ({
    api: createApi({ ...apiOptions, server: at }),
    origins,
    fetchTimeoutMs,
  });
  if (address) {
    const open = (at: string) => openAgentSession({ ...optionsAt(at), address, scope, resource });
    return named === undefined ? openSessionOfAgent(address, open) : open(named);
  }
  if (named === undefined)
    throw new TypeError(
      'LATCHKEY_TOKEN needs LATCHKEY_SERVER: a token is only sent to a server that is named.',
    );
  return openTokenSession({ ...optionsAt(named), token: token! });
}

/** @throws {TypeError} */
function namedServer(): string | undefined {
  const address = setting('LATCHKEY_SERVER');
  try {
    return address === undefined ? undefined : serverAddress(address);
  } catch {
    throw new TypeError('LATCHKEY_SERVER must be the http or https address of a server, without a path.');
  }
}

/** White space around a value does not count: one that comes from a file often ends in a line break. */
const setting = (name: string): string | undefined => process.env[name]?.trim() || undefined;
