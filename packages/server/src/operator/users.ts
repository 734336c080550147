import type { Command } from 'commander';
import { setDisabled } from '../account/account.ts';
import type { Context } from '../context.ts';

/** `users disable` and `users enable`. */
export function userCommands(
  program: Command,
  run: (work: (ctx: Context) => Promise<string>) => Promise<void>,
): void {
  const users = program.command('users').description('shut accounts and open them again');

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
}
