import type { Command } from 'commander';
import {
  allAccounts,
  findAccountByEmail,
  revokeAllSessions,
  setDisabled,
} from '../identity/account/account.ts';
import type { Context } from '../platform/context.ts';
import { deleteAccount, exportPersonalData } from '../whole-account/personal-data/personal-data.ts';

/** `users disable`, `enable`, `sign-out`, `delete` and `export`. */
export function userCommands(
  program: Command,
  run: (work: (ctx: Context) => Promise<string>) => Promise<void>,
): void {
  const users = program.command('users').description('disable, enable, sign out, delete and export accounts');
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
}

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
