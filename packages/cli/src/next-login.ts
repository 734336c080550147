import { leaveLogin } from '@latchkey/client/accounts';
import type { StoredConnection } from './connection.ts';

/** After signing out: the name of the login in use, which is the only other one if there is one. */
export const nextLogin = ({ server, stored: { place, store } }: StoredConnection): Promise<string | null> =>
  leaveLogin(place.storage, server, store.account ?? '');

/** Says which login commands use after signing out, if there are others. */
export function nextLoginLines({ stored: { held, store } }: StoredConnection, next: string | null): string[] {
  const others = Object.keys(held.logins).filter((name) => name !== store.account);
  if (others.length === 0 || (next !== null && next === held.current)) return [];
  if (next !== null) return [`Now using ${next}.`];
  return [`You are still signed in as ${others.join(', ')}. Choose one with \`latchkey switch NAME\`.`];
}
