import { exchangeToken } from '@latchkey/client/token-exchange';
import type { IssuedToken } from '@latchkey/contract/tokens';
import type { Connection } from './connection.ts';
import type { RequestedAccess } from './text-input.ts';

export interface DatedToken {
  readonly token: string;
  /** On this machine's clock, in milliseconds. Undefined for a key and for `LATCHKEY_TOKEN`: it is not stored. */
  readonly expiresAt: number | undefined;
}

/** The valid access token or key of a login, or `LATCHKEY_TOKEN`. */
export async function ownToken(
  { session, stored, agent }: Connection,
  signal: AbortSignal,
): Promise<DatedToken> {
  if (agent) return dated(Date.now(), await agent.token({ signal }));
  const token = await session.accessToken({ signal });
  const login = await stored?.store.read();
  const isKnown = login && login.kind !== 'key' && login.access_token === token;
  return { token, expiresAt: isKnown ? login.access_token_expires_at : undefined };
}

/** A token that allows no more than this, from the agent if there is one. */
export const issueToken = (
  { api, session, agent }: Connection,
  wanted: RequestedAccess & { readonly expiresInSeconds?: number | undefined },
  signal: AbortSignal,
): Promise<IssuedToken> =>
  agent ? agent.token({ ...wanted, signal }) : exchangeToken({ api, session, ...wanted, signal });

/** A token with its end. */
export const dated = (requestedAt: number, { access_token, expires_in }: IssuedToken): DatedToken => ({
  token: access_token,
  expiresAt: requestedAt + expires_in * 1000,
});
