// The commands that hand tokens to other programs.

import type { Command } from 'commander';
import type { Context } from './context.ts';
import { UsageError } from './exit.ts';
import { withExamples } from './help.ts';

/** Makes the action of a command, whose code is loaded when it runs. It gets the arguments and then the options. */
export type RunCommand = (
  load: (options: never) => Promise<(ctx: Context, ...received: never[]) => Promise<void>>,
) => (...received: unknown[]) => Promise<void>;

/** Adds a command, with the examples of its help. */
export function define(
  parent: Command,
  name: string,
  description: string,
  examples: readonly string[],
): Command {
  const command = parent.command(name).description(description);
  withExamples(command, examples);
  return command;
}

/** An option that can be repeated. A variadic one would also take the operation that the program appends. */
const repeated = (value: string, previous: readonly string[] = []): readonly string[] => [...previous, value];

export function addCredentialCommands(program: Command, run: RunCommand): void {
  const credential = define(program, 'credential', 'sign git in, as its credential helper', [
    'latchkey help credential git',
  ]).action(
    run(async () => {
      throw new UsageError('Name the program to sign in: git.');
    }),
  );
  define(credential, 'git', 'sign git in', [
    "git config --global credential.helper '!latchkey credential git --host git.example --scope code:write'",
  ])
    .option('--host <host>', 'a host to sign in to, with its port; can be repeated', repeated)
    .option('--scope <scope>', 'what tokens for these hosts allow; can be repeated', repeated)
    .option('--resource <uri>', 'the only service that accepts these tokens')
    .argument('<operation>', 'get, store or erase: git appends it')
    .action(run(async () => (await import('./commands/credential-git.ts')).gitCredential));
}

export function addAgentCommands(program: Command, run: RunCommand): void {
  const withPolicy = (command: Command): Command =>
    command
      .option('--scope <scope>', 'what its tokens may allow; can be repeated', repeated)
      .option('--resource <uri>', 'the only service that accepts its tokens')
      .option('--expires <duration>', 'how long its tokens may live: 60 to 900 seconds, or 5m (default: 15m)')
      .option('--listen <address>', '127.0.0.1:PORT, with a secret, instead of a socket')
      .option('--forward <target>', 'NAME=URL SCOPE…: forward requests; can be repeated', repeated)
      .option('--ask', 'ask on the terminal or desktop before the first token with a scope and resource')
      .option('--policy <file>', 'read these options from a JSON file');
  const agent = withPolicy(
    define(program, 'agent', 'hand out short-lived tokens of this login to programs, never the login', [
      'latchkey agent --scope code:read',
      'latchkey agent --listen 127.0.0.1:4100 --ask',
      "latchkey agent --forward 'tickets=https://tickets.example tickets:read'",
    ]),
  ).action(run(async () => (await import('./commands/agent.ts')).agent));
  withPolicy(
    define(agent, 'run', 'run a program that gets its tokens from an agent, and end with its status', [
      'latchkey agent run --scope code:read -- npm test',
      `latchkey agent run --forward 'tickets=https://tickets.example tickets:read' -- sh -c 'curl "$LATCHKEY_FORWARD_TICKETS/list"'`,
    ]),
  )
    .argument('<command...>', 'the program with its arguments, after --')
    .action(
      run(async () => {
        const { agentRun } = await import('./commands/agent.ts');
        return (ctx, words: readonly string[], _: unknown, command: Command) =>
          agentRun(ctx, words, command.optsWithGlobals());
      }),
    );
}
