// The commands that hand tokens to other programs.

import { Argument, type Command } from 'commander';
import type { DockerOperation } from './commands/credential-docker.ts';
import type { Context } from './context.ts';
import { UsageError } from './exit.ts';
import { withExamples } from './help.ts';

export type RunCommand = (command: Command, work: (ctx: Context) => Promise<void>) => Promise<void>;

/** An option that can be repeated. A variadic one would also take the operation that the program appends. */
const repeated = (value: string, previous: readonly string[] = []): readonly string[] => [...previous, value];

export function addCredentialCommands(program: Command, runCommand: RunCommand): void {
  const credential = program
    .command('credential')
    .description('sign git, docker or kubernetes in, as their credential helper')
    .action((_, command) =>
      runCommand(command, async () => {
        throw new UsageError('Name the program to sign in: git, docker or kubernetes.');
      }),
    );
  withExamples(credential, ['latchkey help credential git']);
  const helper = (name: string, description: string, ...examples: string[]): Command => {
    const command = credential
      .command(name)
      .description(description)
      .option('--host <host>', 'a host to sign in to, with its port; can be repeated', repeated)
      .option('--scope <scope>', 'what tokens for these hosts allow; can be repeated', repeated)
      .option('--resource <uri>', 'the only service that accepts these tokens');
    withExamples(command, examples);
    return command;
  };
  helper(
    'git',
    'sign git in',
    "git config --global credential.helper '!latchkey credential git --host git.example --scope code:write'",
  )
    .argument('<operation>', 'get, store or erase: git appends it')
    .action((operation: string, options, command) =>
      runCommand(command, async (ctx) =>
        (await import('./commands/credential-git.ts')).gitCredential(ctx, operation, options),
      ),
    );
  helper(
    'docker',
    'sign docker in',
    'latchkey credential docker --host registry.example --scope images:pull "$@"',
  )
    .addArgument(new Argument('<operation>', 'docker appends it').choices(['get', 'store', 'erase', 'list']))
    .action((operation: DockerOperation, options, command) =>
      runCommand(command, async (ctx) =>
        (await import('./commands/credential-docker.ts')).dockerCredential(ctx, operation, options),
      ),
    );
  helper('kubernetes', 'sign kubectl in', 'latchkey credential kubernetes --scope cluster:admin').action(
    (options, command) =>
      runCommand(command, async (ctx) =>
        (await import('./commands/credential-kubernetes.ts')).kubernetesCredential(ctx, options),
      ),
  );
}

export function addAgentCommands(program: Command, runCommand: RunCommand): void {
  const withPolicy = (command: Command): Command =>
    command
      .option('--scope <scope>', 'what its tokens may allow; can be repeated', repeated)
      .option('--resource <uri>', 'the only service that accepts its tokens')
      .option('--expires <duration>', 'how long its tokens may live: 60 to 900 seconds, or 5m (default: 15m)')
      .option('--listen <address>', '127.0.0.1:PORT, with a secret, instead of a socket')
      .option('--ask', 'ask on the terminal or desktop before the first token with a scope')
      .option('--policy <file>', 'read these options from a JSON file');
  const agent = withPolicy(
    program
      .command('agent')
      .description('hand out short-lived tokens of this login to programs, never the login'),
  ).action((options, command) =>
    runCommand(command, async (ctx) => (await import('./commands/agent.ts')).agent(ctx, options)),
  );
  withExamples(agent, ['latchkey agent --scope code:read', 'latchkey agent --listen 127.0.0.1:4100 --ask']);
  const run = withPolicy(
    agent
      .command('run')
      .description('run a program that gets its tokens from an agent, and end with its status'),
  )
    .argument('<command...>', 'the program with its arguments, after --')
    .action((words: readonly string[], _, command: Command) =>
      runCommand(command, async (ctx) =>
        (await import('./commands/agent.ts')).agentRun(ctx, words, command.optsWithGlobals()),
      ),
    );
  withExamples(run, ['latchkey agent run --scope code:read -- npm test']);
}
