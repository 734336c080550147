import type { Connection } from './connection.ts';

export interface DatedToken {
  readonly token: string;
  /** On this machine's clock, in milliseconds. Undefined for a key and for `LATCHKEY_TOKEN`: it is not stored. */
  readonly expiresAt: number | undefined;
}

/** The valid access token or key of a login, or `LATCHKEY_TOKEN`. */
export async function ownToken({ session, stored }: Connection, signal: AbortSignal): Promise<DatedToken> {
  const token = await session.accessToken({ signal });
  const login = await stored?.store.read();
  const isKnown = login && login.kind !== 'key' && login.access_token === token;
  return { token, expiresAt: isKnown ? login.access_token_expires_at : undefined };
}
