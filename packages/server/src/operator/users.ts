import type { Event } from '@latchkey/contract/events';
import { emailAddress } from '@latchkey/contract/fields';
import type { Key } from '@latchkey/contract/keys';
import type { Organization } from '@latchkey/contract/organizations';
import type { Passkey } from '@latchkey/contract/passkeys';
import { sessionMethod, sessionName } from '@latchkey/contract/session-words';
import { terminalJson, untrustedText } from '@latchkey/contract/untrusted-text';
import type { User, UserEmail, UserSession } from '@latchkey/contract/users';
import type { Command } from 'commander';
import {
  findAccountByEmail,
  noSuchAccount,
  revokeAllSessions,
  setDisabled,
} from '../identity/account/account.ts';
import { listUsers } from '../identity/account/users.ts';
import type { Context } from '../platform/context.ts';
import { invalidRequest } from '../platform/errors.ts';
import { accounts, listEvents } from '../security-log/events/reading.ts';
import { issueSignInLink } from '../sign-in/magic-links/magic-links.ts';
import { listUserEmails, listUserSessions, reportOnAddress } from '../whole-account/operators.ts';
import { deleteAccount, exportPersonalData } from '../whole-account/personal-data.ts';
import { allPages, type CommandContext, counted, printsList, type Run, withArgument } from './commands.ts';
import { importCommand } from './import.ts';
import { shortTime, type Table } from './output.ts';

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
    .description(
      'print an account with its emails, sessions, passkeys, API keys, organizations and security log, or what was emailed to an address without one',
    )
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
  users
    .command('sign-in-link <address>')
    .description(
      'print a link that signs in to an account once, for a person whom emails do not reach; it is in their security log and they get a notice',
    )
    .option('--create', 'create the account if the address has none, also where sign-up is closed')
    .action(
      run(async (ctx, address: string, { create = false }: { create?: boolean }) => {
        await issueSignInLink(ctx, { email: requireAddress(address), create }, ctx.output.writeSecret);
      }),
    );
  importCommand(users, run);
}

/** @throws {AuthError} `invalid_request` */
function requireAddress(text: string): string {
  const address = emailAddress.safeParse(text);
  if (!address.success) throw invalidRequest(`${untrustedText(text)} is not an email address.`);
  return address.data;
}

/** Prints an address's account and mails. @throws {AuthError} `not_found`, at the end, without an account */
async function show(ctx: CommandContext, address: string, { json }: { json?: true }): Promise<void> {
  const { write, writeList } = ctx.output;
  const { user, sign_up_allowed, ...report } = await reportOnAddress(ctx, address);
  if (!user) requireAddress(address);
  const { emails, passkeys, keys, organizations } = report;
  const userId = user?.id;
  const sent = userId ? allPages('emails', (page) => listUserEmails(ctx, userId, page)) : emails;
  const lists = [
    ...(userId
      ? ([
          ['sessions', allSessions(ctx, userId), sessionTable],
          ['passkeys', passkeys, passkeyTable],
          ['keys', keys, keyTable],
          ['organizations', organizations, organizationTable],
        ] as const)
      : []),
    ['emails', sent, emailTable],
    ...(userId
      ? ([['events', allPages('events', (page) => listEvents(ctx, { userId }, page)), eventTable]] as const)
      : []),
  ] as const;
  const signUp = `The settings ${sign_up_allowed ? 'allow' : 'do not allow'} an account with this address (LATCHKEY_SIGNUP).`;
  if (json) {
    const entries = await Promise.all(
      lists.map(async ([name, list]) => [name, await Array.fromAsync<unknown>(list)]),
    );
    await write(terminalJson({ user, sign_up_allowed, ...Object.fromEntries(entries) }, 2));
  } else {
    if (user) await writeList([user], userTable);
    else await write(`No account has the address ${untrustedText(address)}. ${signUp}`);
    for (const [name, list, table] of lists) {
      const heading = name === 'keys' ? 'API KEYS' : name.toUpperCase();
      if (!(await write(`\n${heading}`))) return;
      await writeList<never>(list as AsyncIterable<never>, table);
    }
  }
  if (!user) throw noSuchAccount();
}

const userTable: Table<User> = {
  columns: [
    'email',
    'name',
    ['STATE', (user) => (user.disabled ? 'disabled' : 'active')],
    'created_at',
    'id',
  ],
  empty: 'No account matches.',
};

const allSessions = (ctx: Context, userId: string) =>
  allPages('sessions', (page) => listUserSessions(ctx, userId, page));

const sessionTable: Table<UserSession> = {
  columns: [
    'id',
    ['NAME', sessionName],
    ['SIGNED IN WITH', ({ method }) => sessionMethod(method)],
    'ip_address',
    ['STARTED (UTC)', ({ created_at }) => shortTime(created_at)],
    'last_used_at',
    'scope',
  ],
  empty: 'The account has no active sessions.',
};

const passkeyTable: Table<Passkey> = {
  columns: [
    'id',
    'name',
    ['KIND', ({ device_type }) => (device_type === 'multi_device' ? 'synced' : 'one device')],
    'created_at',
    'last_used_at',
  ],
  empty: 'The account has no passkeys.',
};

const keyTable: Table<Key> = {
  columns: ['id', 'name', 'scope', 'created_at', 'expires_at', 'last_used_at'],
  empty: 'The account has no API keys.',
};

const organizationTable: Table<Organization> = {
  columns: ['slug', 'name', 'role', 'joined_at'],
  empty: 'The account is in no organization.',
};

const emailTable: Table<UserEmail> = {
  columns: [
    ['REQUESTED (UTC)', ({ created_at }) => shortTime(created_at)],
    ['KIND', ({ kind }) => kind.replaceAll('_', ' ')],
    'to',
    'outcome',
    'sent_at',
  ],
  empty: 'No emails are kept.',
};

const textOf = (detail: Event['detail']): string =>
  Object.entries(detail)
    .map((entry) => entry.join('='))
    .join(' ');

const eventTable: Table<Event> = {
  columns: [
    ['TIME (UTC)', ({ created_at }) => shortTime(created_at)],
    ['EVENT', ({ type }) => type.replaceAll('_', ' ')],
    'ip_address',
    ['DETAIL', ({ detail }) => textOf(detail)],
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
