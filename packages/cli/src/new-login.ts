import { addLogin, leaveLogin, settleLogin } from '@latchkey/client/accounts';
import {
  loginsAt,
  type PlacedLogin,
  type StoredLogin,
  type StoredSession,
  tokenMembers,
} from '@latchkey/client/credentials';
import { hasCode, LatchkeyError } from '@latchkey/client/errors';
import { revokeToken } from '@latchkey/client/internal/revoke-token';
import { userOf } from '@latchkey/client/internal/user';
import type { TokenSet } from '@latchkey/contract/tokens';
import type { Connection, StoredConnection } from './connection.ts';
import type { Context } from './context.ts';
import { visible } from './text.ts';

/** For other processes to finish refreshing the session that is replaced. */
const refreshMs = 5_000;

/** Stores it, asks whose it is, and ends what it replaces. @param account default: its user's address */
export async function keepSession(
  ctx: Context,
  connection: StoredConnection,
  tokens: TokenSet,
  account: string | undefined,
): Promise<void> {
  const { api, server, stored } = connection;
  const { storage } = stored.place;
  const next: StoredSession = {
    server,
    user: { id: '', email: '' },
    logged_in_at: new Date().toISOString(),
    ...tokenMembers(tokens, Date.now(), api.serverTime()),
  };
  let added: PlacedLogin;
  try {
    added = await afterRefresh(connection, () => addLogin(storage, next, account));
  } catch (error) {
    // A session whose tokens are lost should not stay active.
    await revokeToken(api, next.refresh_token).catch(() => {});
    throw error;
  }
  const user = await userOf(api, tokens.access_token).catch((error: unknown) =>
    error instanceof LatchkeyError ? error : Promise.reject(error),
  );
  const known = user instanceof LatchkeyError ? undefined : user;
  const settled = await afterRefresh(connection, () =>
    settleLogin(storage, next, added.name, known, account),
  );
  for (const { replaced } of [added, settled]) await endReplaced(ctx, connection, replaced);
  print(ctx, server, settled.name, user);
  await printOthers(ctx, connection, settled.name);
}

/** Replaces a login once no other process is refreshing it, so that its newest tokens are known. */
export async function afterRefresh<T>({ stored }: StoredConnection, work: () => Promise<T>): Promise<T> {
  let started = false;
  const begin = () => {
    started = true;
    return work();
  };
  try {
    return await stored.store.lockForRefresh(begin, { timeoutMs: refreshMs });
  } catch (error) {
    if (started || !hasCode(error, 'lock_timeout')) throw error;
    return work();
  }
}

/** Ends a session whose login has been replaced. A key is only forgotten: other programs may use it. */
export async function endReplaced(
  { output }: Context,
  connection: Connection,
  replaced: StoredLogin | null,
): Promise<void> {
  if (!replaced || replaced.kind === 'key') return;
  try {
    await revokeToken(connection.api, replaced.refresh_token);
  } catch (error) {
    const description = 'Your former session on this machine could not be ended.';
    const reason = error instanceof Error ? visible(error.message) : '';
    output.message({ warning: 'former_login_not_ended', description, reason }, () => [
      `latchkey: Warning: ${description} ${reason}`,
      'End it with `latchkey sessions revoke ID`; `latchkey sessions` shows its ID.',
    ]);
  }
}

function print(
  { output }: Context,
  server: string,
  account: string,
  user: StoredLogin['user'] | LatchkeyError,
): void {
  if (!(user instanceof LatchkeyError)) {
    const { id, email } = user;
    output.result({ server, account, user: { id, email } }, () => [
      `Signed in to ${server} as ${email}${account === email ? '' : ` (account ${account})`}.`,
    ]);
    return;
  }
  const description = `You are signed in, but the server did not return your profile: ${user.message}`;
  output.message({ warning: 'user_unknown', description }, () => [
    `latchkey: Warning: ${description}`,
    'Run `latchkey whoami` to ask again.',
  ]);
  output.result({ server, account, user: null }, () => [`Signed in to ${server}.`]);
}

/** Says that a new login has not replaced all others. */
export async function printOthers(
  { output }: Context,
  { server, stored }: StoredConnection,
  account: string,
): Promise<void> {
  const { logins } = loginsAt(await stored.place.storage.read(), server);
  const others = Object.keys(logins).filter((name) => name !== account);
  if (others.length === 0) return;
  output.message({ other_accounts: others }, () => [
    `You are also signed in as ${others.join(', ')}. Choose with \`latchkey switch NAME\` or --account NAME.`,
  ]);
}

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
