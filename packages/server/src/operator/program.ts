import { usageSentence } from '@latchkey/contract/terminal';
import { Command } from 'commander';
import manifest from '../../package.json' with { type: 'json' };
import type { Runners } from './commands.ts';
import { doctorCommand, healthCommand } from './doctor.ts';
import { eventCommands } from './events.ts';
import { organizationCommands } from './organizations.ts';
import { outboxCommand } from './outbox.ts';
import { keyCommands } from './server-keys.ts';
import { serviceCommands } from './services.ts';
import { storeCommands } from './stores.ts';
import { userCommands } from './users.ts';

/** All commands of `latchkey-server`. The man page and the shell completions are generated from them. */
export function createProgram(runners: Runners): Command {
  const { readEnvFile, runOnStore, output } = runners;
  const program = new Command('latchkey-server')
    // Subcommands copy these settings when they are added.
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void output.write(text.trimEnd()).catch(() => undefined),
      writeErr: (text) => output.say(text.trimEnd()),
      outputError: (message) => output.say(`latchkey-server: ${usageSentence(message)}`),
    })
    .description(
      'Runs the Latchkey service and manages it. Settings come from the environment and from .env.',
    )
    .version(manifest.version)
    .option(
      '--env-file <file>',
      'read settings from this file instead of .env; environment variables take precedence',
    )
    .hook('preAction', (options) => readEnvFile(options.opts<{ envFile?: string }>().envFile));

  program.command('serve').description('run the service').action(runners.serve);
  program
    .command('migrate')
    .description('create the database or bring it up to date, without running the service')
    .action(runners.migrate);
  storeCommands(program, runners);
  userCommands(program, runOnStore);
  organizationCommands(program, runOnStore);
  outboxCommand(program, runOnStore);
  eventCommands(program, runOnStore);
  doctorCommand(program, runners);
  healthCommand(program, runners);
  serviceCommands(program, runOnStore);
  keyCommands(program, runOnStore);
  return withHelpHint(program);
}

/** After a usage error, says how to get the help of the command that failed. */
function withHelpHint(command: Command, path = command.name()): Command {
  for (const child of command.commands) withHelpHint(child, `${path} ${child.name()}`);
  return command.showHelpAfterError(`Run \`${path} --help\` for usage.`);
}
