import { forgetLogins } from '@latchkey/client/accounts';
import { loginNamed, type StoredLogin } from '@latchkey/client/credentials';
import { connectStored, type StoredConnection } from '../connection.ts';
import type { Context } from '../context.ts';
import { cancellable } from '../exit.ts';
import { nextLogin, nextLoginLines } from '../new-login.ts';
import { confirm } from '../prompt.ts';

export interface LogoutOptions {
  /** End every session of the user, on every device. */
  readonly all?: boolean;
  /** Does that without asking. */
  readonly yes?: boolean;
}

/**
 * `latchkey logout`: removes the credentials once the server has ended the session or no longer knows it, with `all` those
 * of the user's other logins here too. Without it, a key is only forgotten here, since other programs may use it.
 */
export async function logout(ctx: Context, { all = false, yes = false }: LogoutOptions): Promise<void> {
  const connection = await connectStored(ctx);
  const { session, server, stored } = connection;
  const account = stored.store.account ?? null;
  if (all && !yes && loginNamed(stored.held, stored.store.account)) {
    const question = `End every session and API key of ${account} on ${server}, on every device?`;
    await confirm(ctx.prompt, question, 'You are still signed in. Nothing was changed.');
  }
  await cancellable('Logout cancelled, but the server may already have ended the session.', () =>
    session.logout({ everywhere: all, signal: ctx.signal }),
  );
  const left = all ? await forgetUser(connection) : connection;
  const next = await nextLogin(left);
  ctx.output.result({ server, account, scope: all ? 'all' : 'session', next_account: next }, () => [
    signedOut(connection, all),
    ...nextLoginLines(left, next),
  ]);
}

/** Removes the user's other logins on this server, which have ended too. Returns the connection without them. */
async function forgetUser(connection: StoredConnection): Promise<StoredConnection> {
  const { server, stored } = connection;
  const { held, place, store } = stored;
  const userId = loginNamed(held, store.account)?.user.id;
  const ended: Record<string, StoredLogin> = {};
  const logins: Record<string, StoredLogin> = {};
  for (const [name, login] of Object.entries(held.logins)) {
    // An empty id is an unknown user.
    const isOfUser = userId !== '' && login.user.id === userId && name !== store.account;
    (isOfUser ? ended : logins)[name] = login;
  }
  await forgetLogins(place.storage, server, ended);
  return { ...connection, stored: { ...stored, held: { ...held, logins } } };
}

function signedOut({ server, credential, stored: { held, store } }: StoredConnection, all: boolean): string {
  const as = Object.keys(held.logins).length > 1 ? ` as ${store.account}` : '';
  if (all) return `Signed out of ${server}${as}, here and everywhere else.`;
  if (credential !== 'key') return `Signed out of ${server}${as}.`;
  return `Signed out of ${server}${as}. The key was only forgotten here: \`latchkey keys remove\` ends it.`;
}
