import type { Session } from '@latchkey/contract/sessions';
import type { User } from '@latchkey/contract/users';
import type { Command } from 'commander';
import {
  allAccounts,
  findAccountByEmail,
  revokeAllSessions,
  searchUsers,
  setDisabled,
} from '../identity/account/account.ts';
import type { Context } from '../platform/context.ts';
import { listSessions } from '../sessions/listing.ts';
import { deleteAccount, exportPersonalData } from '../whole-account/personal-data/personal-data.ts';
import { importCommand } from './import.ts';
import { shortTime, type Table, writeList } from './output.ts';

type Run = (work: (ctx: Context) => Promise<string>) => Promise<void>;

/** How many rows are read from the database at once. */
const pageSize = 500;

/** `users list`, `sessions`, `disable`, `enable`, `sign-out`, `delete`, `export` and `import`. */
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
      'only those with this text anywhere in the address or name; the case of A-Z does not matter',
    )
    .option(...asJson)
    .action(({ search = '', ...options }: { search?: string; json?: true }) =>
      run(async (ctx) => {
        await writeList(searchUsers(ctx, search), userTable, options);
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

type ListedSession = Omit<Session, 'current'>;

async function* allSessions(ctx: Context, userId: string): AsyncGenerator<ListedSession> {
  let cursor: string | null | undefined;
  do {
    const page = await listSessions(ctx, { userId }, { limit: pageSize, cursor: cursor ?? undefined });
    yield* page.sessions.map(({ current: _, ...session }) => session);
    cursor = page.next_cursor;
  } while (cursor !== null);
}

const sessionTable: Table<ListedSession> = {
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
