import type { Command } from 'commander';
import { setDisabled } from '../account/account.ts';
import type { Context } from '../context.ts';
import { deleteAccount, exportPersonalData } from '../personal-data/personal-data.ts';

/** `users disable`, `enable`, `delete` and `export`. */
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
