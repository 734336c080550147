import { connectStored } from '../connection.ts';
import type { Context } from '../context.ts';
import { cancellable } from '../exit.ts';
import { nextLogin, nextLoginLines } from '../next-login.ts';

export interface LogoutOptions {
  /** End every session of the user, on every device. */
  readonly all?: boolean;
}

/**
 * `latchkey logout`: removes the credentials once the server has ended the session or no longer knows it. A key is only
 * forgotten here, since other programs may use it.
 */
export async function logout(ctx: Context, { all = false }: LogoutOptions): Promise<void> {
  const connection = await connectStored(ctx);
  const { session, server, credential, stored } = connection;
  await cancellable('Logout cancelled, but the server may already have ended the session.', () =>
    session.logout({ everywhere: all, signal: ctx.signal }),
  );
  const account = stored.store.account ?? null;
  const next = await nextLogin(connection);
  ctx.output.result({ server, account, scope: all ? 'all' : 'session', next_account: next }, () => [
    signedOut({ server, all, isKey: credential === 'key' }),
    ...nextLoginLines(connection, next),
  ]);
}

function signedOut({ server, all, isKey }: { server: string; all: boolean; isKey: boolean }): string {
  if (all) return `Signed out of ${server}, here and everywhere else.`;
  if (!isKey) return `Signed out of ${server}.`;
  return `Signed out of ${server}. The key itself still works: \`latchkey keys remove\` ends it.`;
}
