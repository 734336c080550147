import { useLogin } from '@latchkey/client/accounts';
import { LatchkeyError } from '@latchkey/client/errors';
import { storedName } from '../account-name.ts';
import { connectStored, loginCommand } from '../connection.ts';
import type { Context } from '../context.ts';
import { UsageError } from '../exit.ts';
import { printList } from '../pages.ts';
import { localTime } from '../text.ts';

/** `latchkey accounts`: the logins on this server, in the order in which they were added. */
export async function listAccounts(ctx: Context): Promise<void> {
  const { server, stored } = await connectStored(ctx);
  const { current, logins } = stored.held;
  const accounts = Object.entries(logins).map(([name, { user, kind, logged_in_at }]) => ({
    name,
    current: name === current,
    user: user.id === '' ? null : user,
    kind: kind ?? 'session',
    logged_in_at,
  }));
  printList(ctx, {
    json: { server, accounts },
    heading: ['NAME', 'EMAIL', 'KIND', 'SIGNED IN'],
    rows: accounts.map((account) => [
      account.name,
      account.user?.email || '-',
      account.kind,
      `${localTime(account.logged_in_at)}${account.current ? ' (in use)' : ''}`,
    ]),
    none: `You are not signed in to ${server}. Sign in with \`${loginCommand(ctx)}\`.`,
  });
}

/** `latchkey switch NAME`: commands without `--account` use this login from now on. */
export async function switchAccount(ctx: Context, name: string): Promise<void> {
  if (name === '') throw new UsageError('The name of an account cannot be empty.');
  const { server, stored } = await connectStored({ ...ctx, account: undefined });
  const found = storedName(stored.held, name);
  if (found === undefined || !(await useLogin(stored.place.storage, server, found))) {
    throw new LatchkeyError('not_logged_in', `You are not signed in to ${server} as ${name}.`);
  }
  const email = stored.held.logins[found]?.user.email || null;
  const as = email === null || email === found ? found : `${found} (${email})`;
  ctx.output.result({ server, account: found, email }, () => [`Now using ${as} at ${server}.`]);
}
