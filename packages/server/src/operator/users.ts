import type { Command } from 'commander';
import {
  allAccounts,
  findAccountByEmail,
  revokeAllSessions,
  setDisabled,
} from '../identity/account/account.ts';
import type { Context } from '../platform/context.ts';
import { deleteAccount, exportPersonalData } from '../whole-account/personal-data/personal-data.ts';

/** Ends every login of everybody; says of how many accounts. */
async function signEveryoneOut(ctx: Context): Promise<string> {
  let accounts = 0;
  for await (const userId of allAccounts(ctx)) {
    await revokeAllSessions(ctx, userId, 'operator');
    accounts++;
  }
  return `Ended all logins of ${accounts} ${accounts === 1 ? 'account' : 'accounts'}.`;
}

/** `users disable`, `enable`, `sign-out`, `delete` and `export`. */
export function userCommands(
  program: Command,
  run: (work: (ctx: Context) => Promise<string>) => Promise<void>,
): void {
  const users = program
    .command('users')
    .description('shut accounts and open them again, delete them, and show what is held about a person');

  users
    .command('disable <address>')
    .description('shut an account: every login of it ends at once, for good')
    .action((address: string) =>
      run(async (ctx) =>
        (await setDisabled(ctx, address, true))
          ? `Disabled ${address}; all its logins have ended.`
          : `${address} was disabled already.`,
      ),
    );

  users
    .command('enable <address>')
    .description('open an account again: its owner can log in anew')
    .action((address: string) =>
      run(async (ctx) =>
        (await setDisabled(ctx, address, false)) ? `Enabled ${address}.` : `${address} was not disabled.`,
      ),
    );

  users
    .command('sign-out [address]')
    .description('end all logins of an account at once; its owner can log in anew')
    .option('--everybody', 'of all accounts: after a leak, or on a store from a backup')
    .action(
      (address: string | undefined, { everybody = false }: { everybody?: boolean }, command: Command) => {
        if (everybody === (address !== undefined))
          command.error('error: name either an address or --everybody');
        return run(async (ctx) => {
          if (address === undefined) return signEveryoneOut(ctx);
          await revokeAllSessions(ctx, await findAccountByEmail(ctx, address), 'operator');
          return `Ended all logins of ${address}.`;
        });
      },
    );

  users
    .command('delete <address>')
    .description('delete an account and everything of it, for good; all its logins end at once')
    .action((address: string) =>
      run(async (ctx) => {
        await deleteAccount(ctx, address);
        return `Deleted the account of ${address} and everything of it.`;
      }),
    );

  users
    .command('export <address>')
    .description('print everything that is held about a person as JSON')
    .action((address: string) =>
      run(async (ctx) => JSON.stringify(await exportPersonalData(ctx, address), null, 2)),
    );
}
