import type { Event } from '@latchkey/contract/events';
import { terminalJson } from '@latchkey/contract/untrusted-text';
import type { User, UserEmail, UserSession } from '@latchkey/contract/users';
import type { Command } from 'commander';
import { findAccountByEmail, revokeAllSessions, setDisabled } from '../identity/account/account.ts';
import { getUser, listUsers } from '../identity/account/users.ts';
import type { Context } from '../platform/context.ts';
import { accounts, listEvents } from '../security-log/events/reading.ts';
import { listUserEmails, listUserSessions } from '../whole-account/operators/operators.ts';
import { deleteAccount, exportPersonalData } from '../whole-account/personal-data/personal-data.ts';
import { allPages, counted, printsList, type Run, withArgument } from './commands.ts';
import { importCommand } from './import.ts';
import { shortTime, type Table, write, writeList } from './output.ts';

/** `users list`, `show`, `sessions`, `disable`, `enable`, `sign-out`, `delete`, `export` and `import`. */
export function userCommands(program: Command, run: Run): void {
  const users = program
    .command('users')
    .description('find, disable, enable, sign out, delete, export and import accounts');
  const list = users
    .command('list')
    .description('list accounts by email address')
    .option(
      '--search <text>',
      'only those with this text anywhere in the address or name; case does not matter',
    );
  printsList(list, run, userTable, (ctx) =>
    allPages('users', (page) => listUsers(ctx, { ...page, ...list.opts<{ search?: string }>() })),
  );
  users
    .command('show <address>')
    .description('print an account with its sessions, emails and security log, each newest first')
    .option('--json', 'print one JSON object')
    .action(run(show));
  const sessions = users
    .command('sessions <address>')
    .description('list the active sessions of an account, newest first');
  printsList(sessions, run, sessionTable, async function* (ctx) {
    yield* allSessions(ctx, await findAccountByEmail(ctx, sessions.args[0]!));
  });

  const withAddress = withArgument(users, run, 'address');
  withAddress('disable', 'disable an account and end all its sessions at once', disable);
  withAddress('enable', 'enable a disabled account, so that its owner can sign in again', enable);
  users
    .command('sign-out [address]')
    .description('end all sessions of an account at once; its owner can sign in again')
    .option('--everybody', 'end the sessions of all accounts: after a leak, or after restoring a backup')
    .action(
      (address: string | undefined, { everybody = false }: { everybody?: boolean }, command: Command) => {
        if (everybody === (address !== undefined)) {
          command.error('error: specify either an address or --everybody');
        }
        return run((ctx) => (address === undefined ? signOutEverybody(ctx) : signOut(ctx, address)))();
      },
    );
  withAddress(
    'delete',
    'permanently delete an account and all its data; all its sessions end at once',
    async (ctx, address) => {
      await deleteAccount(ctx, address);
      return `Deleted the account of ${address} and all its data.`;
    },
  );
  withAddress('export', 'print all data stored about a person as JSON', async (ctx, address) =>
    JSON.stringify(await exportPersonalData(ctx, address), null, 2),
  );
  importCommand(users, run);
}

/** Prints what support needs about an account: profile, sessions, emails and security log. */
async function show(ctx: Context, address: string, { json }: { json?: true }): Promise<string | undefined> {
  const userId = await findAccountByEmail(ctx, address);
  const user = await getUser(ctx, userId);
  const lists = [
    ['sessions', allSessions(ctx, userId), sessionTable],
    ['emails', allPages('emails', (page) => listUserEmails(ctx, userId, page)), emailTable],
    ['events', allPages('events', (page) => listEvents(ctx, { userId }, page)), eventTable],
  ] as const;
  if (json) {
    const entries = await Promise.all(
      lists.map(async ([name, list]) => [name, await Array.fromAsync<unknown>(list)]),
    );
    return terminalJson({ user, ...Object.fromEntries(entries) }, 2);
  }
  await writeList([user], userTable);
  for (const [name, list, table] of lists) {
    if (!(await write(`\n${name.toUpperCase()}`))) return undefined;
    await writeList<never>(list as AsyncIterable<never>, table);
  }
  return undefined;
}

const userTable: Table<User> = {
  heading: ['EMAIL', 'NAME', 'STATE', 'CREATED (UTC)', 'ID'],
  cells: ({ email, name, disabled, created_at, id }) => [
    email,
    name,
    disabled ? 'disabled' : 'active',
    shortTime(created_at),
    id,
  ],
  empty: 'No account matches.',
};

const allSessions = (ctx: Context, userId: string) =>
  allPages('sessions', (page) => listUserSessions(ctx, userId, page));

const sessionTable: Table<UserSession> = {
  heading: ['ID', 'KIND', 'METHOD', 'CLIENT', 'ADDRESS', 'CREATED (UTC)', 'LAST USED (UTC)', 'SCOPE'],
  cells: (session) => [
    session.id,
    session.kind,
    session.method.replaceAll('_', ' '),
    [session.client_name, session.device_name].filter((name) => name !== null).join(' on ') || '-',
    session.ip_address ?? '-',
    shortTime(session.created_at),
    shortTime(session.last_used_at),
    session.scope,
  ],
  empty: 'The account has no active sessions.',
};

const emailTable: Table<UserEmail> = {
  heading: ['REQUESTED (UTC)', 'KIND', 'TO', 'OUTCOME', 'SENT (UTC)'],
  cells: ({ created_at, kind, to, outcome, sent_at }) => [
    shortTime(created_at),
    kind.replaceAll('_', ' '),
    to,
    outcome,
    sent_at === null ? '-' : shortTime(sent_at),
  ],
  empty: 'No emails are kept.',
};

const eventTable: Table<Event> = {
  heading: ['TIME (UTC)', 'EVENT', 'ADDRESS', 'DETAIL'],
  cells: ({ created_at, type, ip_address, detail }) => [
    shortTime(created_at),
    type.replaceAll('_', ' '),
    ip_address ?? '-',
    Object.entries(detail)
      .map(([name, value]) => `${name}=${value}`)
      .join(' '),
  ],
  empty: 'The security log is empty.',
};

const disable = async (ctx: Context, address: string): Promise<string> =>
  (await setDisabled(ctx, address, true))
    ? `Disabled ${address} and ended all its sessions.`
    : `${address} is already disabled.`;

const enable = async (ctx: Context, address: string): Promise<string> =>
  (await setDisabled(ctx, address, false)) ? `Enabled ${address}.` : `${address} is not disabled.`;

async function signOut(ctx: Context, address: string): Promise<string> {
  await revokeAllSessions(ctx, await findAccountByEmail(ctx, address), 'operator');
  return `Ended all sessions of ${address}.`;
}

async function signOutEverybody(ctx: Context): Promise<string> {
  let count = 0;
  for await (const userId of accounts(ctx)) {
    await revokeAllSessions(ctx, userId, 'operator');
    count++;
  }
  return `Ended all sessions of ${counted(count, 'account')}.`;
}
