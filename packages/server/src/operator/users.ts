import type { Event } from '@latchkey/contract/events';
import type { User, UserEmail, UserSession } from '@latchkey/contract/users';
import type { Command } from 'commander';
import {
  allAccounts,
  findAccountByEmail,
  requireUser,
  revokeAllSessions,
  searchUsers,
  setDisabled,
} from '../identity/account/account.ts';
import type { Context } from '../platform/context.ts';
import type { PageRequest } from '../platform/database/pagination.ts';
import { listEvents } from '../security-log/events/reading.ts';
import { listUserEmails, listUserSessions } from '../whole-account/operators/operators.ts';
import { deleteAccount, exportPersonalData } from '../whole-account/personal-data/personal-data.ts';
import { importCommand } from './import.ts';
import { safeJson, shortTime, type Table, write, writeList } from './output.ts';

type Run = (work: (ctx: Context) => Promise<string>) => Promise<void>;

/** How many rows are read from the database at once. */
const pageSize = 500;

/** `users list`, `show`, `sessions`, `disable`, `enable`, `sign-out`, `delete`, `export` and `import`. */
export function userCommands(program: Command, run: Run): void {
  const users = program
    .command('users')
    .description('find, disable, enable, sign out, delete, export and import accounts');
  addReadingCommands(users, run);
  const withAddress = (
    name: string,
    description: string,
    work: (ctx: Context, address: string) => Promise<string>,
  ) =>
    users
      .command(`${name} <address>`)
      .description(description)
      .action((address: string) => run((ctx) => work(ctx, address)));

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
        return run((ctx) => (address === undefined ? signOutEverybody(ctx) : signOut(ctx, address)));
      },
    );
  withAddress(
    'delete',
    'permanently delete an account and all its data; all its sessions end at once',
    remove,
  );
  withAddress('export', 'print all data stored about a person as JSON', exportData);
  importCommand(users, run);
}

const asJson = ['--json', 'print JSON lines instead of a table'] as const;

function addReadingCommands(users: Command, run: Run): void {
  users
    .command('list')
    .description('list accounts by email address')
    .option(
      '--search <text>',
      'only those with this text anywhere in the address or name; case does not matter',
    )
    .option(...asJson)
    .action(({ search = '', ...options }: { search?: string; json?: true }) =>
      run(async (ctx) => {
        await writeList(searchUsers(ctx, search), userTable, options);
        return '';
      }),
    );

  users
    .command('show <address>')
    .description('print an account with its sessions, emails and security log, each newest first')
    .option('--json', 'print one JSON object')
    .action((address: string, options: { json?: true }) =>
      run(async (ctx) => {
        await show(ctx, address, options);
        return '';
      }),
    );

  users
    .command('sessions <address>')
    .description('list the active sessions of an account, newest first')
    .option(...asJson)
    .action((address: string, options: { json?: true }) =>
      run(async (ctx) => {
        const userId = await findAccountByEmail(ctx, address);
        await writeList(allSessions(ctx, userId), sessionTable, options);
        return '';
      }),
    );
}

/** Prints what support needs about an account: profile, sessions, emails and security log. */
async function show(ctx: Context, address: string, { json }: { json?: true }): Promise<void> {
  const userId = await findAccountByEmail(ctx, address);
  const user = await requireUser(ctx, userId);
  const lists = [
    ['sessions', allSessions(ctx, userId), sessionTable],
    ['emails', allEmails(ctx, userId), emailTable],
    ['events', allEvents(ctx, userId), eventTable],
  ] as const;
  if (json) {
    const entries = await Promise.all(
      lists.map(async ([name, list]) => [name, await Array.fromAsync<unknown>(list)]),
    );
    await write(safeJson({ user, ...Object.fromEntries(entries) }, 2));
    return;
  }
  await writeList(single(user), userTable, {});
  for (const [name, list, table] of lists) {
    if (!(await write(`\n${name.toUpperCase()}`))) return;
    await writeList<never>(list as AsyncIterable<never>, table, {});
  }
}

async function* single<Entry>(entry: Entry): AsyncGenerator<Entry> {
  yield entry;
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
  allPages(
    (page) => listUserSessions(ctx, userId, page),
    ({ sessions }) => sessions,
  );

const allEmails = (ctx: Context, userId: string) =>
  allPages(
    (page) => listUserEmails(ctx, userId, page),
    ({ emails }) => emails,
  );

const allEvents = (ctx: Context, userId: string) =>
  allPages(
    (page) => listEvents(ctx, { userId }, page),
    ({ events }) => events,
  );

async function* allPages<Page extends { readonly next_cursor: string | null }, Entry>(
  read: (page: PageRequest) => Promise<Page>,
  entriesOf: (page: Page) => readonly Entry[],
): AsyncGenerator<Entry> {
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: Page = await read({ limit: pageSize, cursor });
    yield* entriesOf(page);
    cursor = page.next_cursor;
  }
}

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
  let accounts = 0;
  for await (const userId of allAccounts(ctx)) {
    await revokeAllSessions(ctx, userId, 'operator');
    accounts++;
  }
  return `Ended all sessions of ${accounts} ${accounts === 1 ? 'account' : 'accounts'}.`;
}

async function remove(ctx: Context, address: string): Promise<string> {
  await deleteAccount(ctx, address);
  return `Deleted the account of ${address} and all its data.`;
}

const exportData = async (ctx: Context, address: string): Promise<string> =>
  JSON.stringify(await exportPersonalData(ctx, address), null, 2);
