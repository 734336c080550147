import { systemReason } from '@latchkey/client/internal/storage/store-failure';
import { usageSentence } from '@latchkey/contract/terminal';
import { Argument, Command, CommanderError, Option } from 'commander';
import manifest from '../package.json' with { type: 'json' };
import type { Shell } from './commands/completion.ts';
import { defaultServer, loginCommand } from './connection.ts';
import type { Context, GlobalOptions } from './context.ts';
import {
  type Connected,
  exitStatus,
  type Failure,
  failureOf,
  ReportedError,
  UsageError,
  withCancellation,
} from './exit.ts';
import { formatHelp, visibleGlobalOptions, withExamples } from './help.ts';
import { createOutput, type Output, type TextStream } from './output.ts';
import { createPrompt } from './prompt.ts';
import { addAgentCommands, addCredentialCommands, define, type RunCommand } from './token-commands.ts';

export interface Environment
  extends Pick<Context, 'config' | 'stdin' | 'signal' | 'takeSignals' | 'signalGroup'> {
  /** Without the program name. */
  readonly args: readonly string[];
  readonly stdout: TextStream;
  readonly stderr: TextStream;
}

/** Runs one command line and returns its exit status. Reports every error itself; never throws. */
export async function run({ args, stdout, stderr, ...environment }: Environment): Promise<number> {
  const { config, stdin, signal } = environment;
  // Also applies to errors in the other arguments.
  const json = args.slice(0, args.includes('--') ? args.indexOf('--') : undefined).includes('--json');
  const output = createOutput({ stdout, stderr, json, ...config });
  const prompt = createPrompt(stdin, output, signal);
  let command: Command | undefined;
  let connected: Connected | undefined;
  const program = createProgram(output, (load) => async (...received) => {
    // The last two that commander passes are the options and the command.
    const [options, running] = received.slice(-2) as [never, Command];
    command = running;
    const { server, account, insecureHttp } = running.optsWithGlobals<GlobalOptions>();
    const ctx: Context = {
      ...environment,
      output,
      prompt,
      server,
      account,
      insecureHttp,
      onConnect: (connection) => {
        connected = connection;
      },
    };
    const work = await load(options);
    await work(ctx, ...(received as never[]));
  });
  reportParseErrors(program, (failing) => {
    command = failing;
  });
  let status: number = exitStatus.done;
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (error instanceof ReportedError) {
      status = error.status;
    } else if (error instanceof CommanderError && error.code === 'commander.help') {
      program.outputHelp();
    } else if (!(error instanceof CommanderError && error.exitCode === 0)) {
      const cause = await withCancellation(asUsageError(error, command), connected?.store);
      const failing = command ?? program;
      const login = loginCommand(failing.optsWithGlobals());
      const failure = failureOf(cause, { login, command: pathOf(failing), ...connected });
      report(output, failure);
      status = failure.status;
    }
  }
  return (await flush(output)) ?? status;
}

/** The commands, whose code is loaded when they run. The man page and the shell completions are generated from them. */
export function createProgram(output: Output, run: RunCommand): Command {
  const program = createRoot(output);
  addLoginCommands(program, run);
  addStoredLoginCommands(program, run);
  addAccountCommands(program, run);
  addKeyCommands(program, run);
  addCredentialCommands(program, run);
  addAgentCommands(program, run);
  addUtilityCommands(program, run);
  withExamples(program, ['latchkey login', 'latchkey whoami', 'latchkey help keys create']);
  return program;
}

function createRoot(output: Output): Command {
  return new Command('latchkey')
    .description('Sign in to Latchkey from the command line, and manage your sessions.')
    .version(manifest.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand(false)
    .option(
      '--server <url>',
      `the server to use (default: LATCHKEY_SERVER, else the last one signed in to, else ${defaultServer})`,
    )
    .option('--account <name>', 'the login to use (default: LATCHKEY_ACCOUNT, else the one in use)')
    .option('--insecure-http', 'allow an unencrypted connection to a server on another machine')
    .option('--json', 'print the result as JSON, and everything else as JSON lines')
    .configureHelp({ showGlobalOptions: true, formatHelp, visibleGlobalOptions })
    .configureOutput({
      writeOut: (text) => {
        const trimmed = text.trim();
        const value = trimmed === manifest.version ? { version: trimmed } : { help: trimmed };
        output.result(value, () => text.trimEnd().split('\n'));
      },
      writeErr: () => {},
    })
    .exitOverride();
}

function addLoginCommands(program: Command, run: RunCommand): void {
  define(program, 'login', 'sign in, with a browser on this or any other machine', [
    'latchkey login',
    'latchkey login --server login.example --account work',
    'latchkey login --with-token <key.txt',
  ])
    .option('--device', 'sign in with a code, even if a browser opens here')
    .option('--no-browser', 'only print the link and the code, open no browser')
    .addOption(
      new Option('--port <number>', 'let the browser come back to this port, even over SSH').conflicts(
        'device',
      ),
    )
    .option('--device-name <name>', 'a name for this machine (default: its host name)')
    .option('--yes', 'do not ask, although you are already signed in')
    .addOption(
      new Option('--with-token', 'store a key that is read from standard input').conflicts([
        'device',
        'port',
        'deviceName',
      ]),
    )
    .action(
      run(async ({ withToken }: { readonly withToken?: boolean }) =>
        withToken
          ? (await import('./commands/login-with-key.ts')).loginWithKey
          : (await import('./commands/login.ts')).login,
      ),
    );
  define(program, 'logout', 'end this session, or every session with --all', [
    'latchkey logout',
    'latchkey logout --account work',
    'latchkey logout --all',
  ])
    .option('--all', 'end all your sessions and API keys, on every device')
    .option('--yes', 'do not ask before that')
    .action(run(async () => (await import('./commands/logout.ts')).logout));
  define(program, 'token', 'print a valid access token, for scripts; with --scope one that allows less', [
    'echo "Authorization: Bearer $(latchkey token)" | curl https://tickets.example -H @-',
    'latchkey token --scope profile email --expires 5m',
    'latchkey token --scope tickets:read --resource https://tickets.example',
    'latchkey token --federated key_… --scope tickets:read',
  ])
    .option('--scope <scope...>', 'what a token of its own allows; it ends with this session')
    .option('--resource <uri>', 'the only service that accepts that token')
    .option('--expires <duration>', 'when that token expires, from now: seconds, or 15m, 1h (default: 15m)')
    .option('--federated <key-id>', 'in a job: show the token of the CI system, which this key trusts')
    .action(run(async () => (await import('./commands/token.ts')).token));
}

function addStoredLoginCommands(program: Command, run: RunCommand): void {
  define(program, 'whoami', 'print who is signed in', [
    'latchkey whoami',
    'latchkey whoami --account work --json',
  ]).action(run(async () => (await import('./commands/profile.ts')).whoami));
  define(
    program,
    'status',
    'print which login is in use, where it is stored, and whether the server accepts it',
    ['latchkey status', 'latchkey status --json'],
  ).action(run(async () => (await import('./commands/status.ts')).status));
  define(program, 'accounts', 'list your logins on this server; `switch` puts another one in use', [
    'latchkey accounts',
    'latchkey accounts --json',
  ]).action(run(async () => (await import('./commands/accounts.ts')).listAccounts));
  define(program, 'switch', 'put another login on this server in use', [
    'latchkey switch work',
    'latchkey switch ada@example.com',
  ])
    .argument('<name>', 'its name, as shown by `latchkey accounts`')
    .action(run(async () => (await import('./commands/accounts.ts')).switchAccount));
}

function addAccountCommands(program: Command, run: RunCommand): void {
  const sessions = define(program, 'sessions', 'list your sessions; `sessions revoke` ends one', [
    'latchkey sessions',
    'latchkey sessions --json',
  ]).action(run(async () => (await import('./commands/sessions.ts')).listSessions));
  define(sessions, 'revoke', 'end one of your sessions', ['latchkey sessions revoke ses_…'])
    .argument('<id>', 'its ID, as shown by `latchkey sessions`')
    .action(run(async () => (await import('./commands/sessions.ts')).revokeSession));
  define(program, 'organizations', 'list your organizations', [
    'latchkey organizations',
    'latchkey organizations --json',
  ]).action(run(async () => (await import('./commands/lists.ts')).organizations));
  define(program, 'passkeys', 'list your passkeys', ['latchkey passkeys']).action(
    run(async () => (await import('./commands/lists.ts')).passkeys),
  );
  const profile = define(program, 'profile', 'print your profile; `profile set` changes it', [
    'latchkey profile',
    'latchkey profile --json',
  ]).action(run(async () => (await import('./commands/profile.ts')).showProfile));
  define(profile, 'set', 'change your profile', [
    "latchkey profile set --name 'Ada Lovelace'",
    "latchkey profile set --locale ''",
  ])
    .option('--name <name>', 'your name')
    .option('--locale <tag>', 'your language, like de-CH; empty to clear')
    .option('--time-zone <name>', 'your time zone, like Europe/Zurich; empty to clear')
    .action(run(async () => (await import('./commands/profile.ts')).setProfile));
}

function addKeyCommands(program: Command, run: RunCommand): void {
  const keys = define(program, 'keys', 'list your API keys; `keys create` and `keys remove` change them', [
    'latchkey keys',
    'latchkey keys --json',
  ]).action(run(async () => (await import('./commands/keys.ts')).listKeys));
  define(keys, 'create', 'open the account page with the key filled in, or create it with LATCHKEY_TOKEN', [
    'latchkey keys create --name build --scope profile --expires 30d',
    "latchkey keys create --name backup --scope '*' --expires 2h --no-browser",
  ])
    .option('--name <name>', 'what you will know the key by (required)')
    .option('--scope <scope...>', 'what it allows; * for everything you can do (required)')
    .option('--expires <duration>', 'when it expires, from now: seconds, or 15m, 2h, 30d (required)')
    .option('--resource <uri>', 'the only service that accepts it')
    .option('--issuer <url>', 'no secret: it trusts tokens that this CI system or cluster issues to its jobs')
    .option('--claim <name=value...>', 'what such a token must say, exactly')
    .option('--no-browser', 'only print the address, do not open a browser')
    .action(run(async () => (await import('./commands/keys.ts')).createKey));
  define(keys, 'remove', 'remove one of your keys', ['latchkey keys remove key_…'])
    .argument('<id>', 'its ID, as shown by `latchkey keys`')
    .action(run(async () => (await import('./commands/keys.ts')).removeKey));
}

function addUtilityCommands(program: Command, run: RunCommand): void {
  define(program, 'doctor', 'check what signing in depends on: server, clock, credentials, proxies', [
    'latchkey doctor',
    'latchkey doctor --server login.example --json',
  ]).action(run(async () => (await import('./commands/doctor.ts')).doctor));
  define(program, 'completion', 'print a completion script for a shell', [
    'source <(latchkey completion bash)',
    'latchkey completion fish | source',
  ])
    .addArgument(new Argument('<shell>', 'bash, zsh or fish').choices(['bash', 'zsh', 'fish']))
    .action(
      run(async () => {
        const { completion } = await import('./commands/completion.ts');
        return (ctx, shell: Shell) => completion(ctx, shell, program);
      }),
    );
  define(program, 'help', 'print this help, or that of a command', ['latchkey help keys create'])
    .argument('[command...]', 'the command, like `sessions revoke`')
    .action((names: readonly string[]) => findCommand(program, names).outputHelp());
}

/** @throws {UsageError} */
function findCommand(program: Command, names: readonly string[]): Command {
  return names.reduce((command, name) => {
    const found = command.commands.find((candidate) => candidate.name() === name);
    if (!found) throw new UsageError(`Unknown command '${names.join(' ')}'.`);
    return found;
  }, program);
}

/** Notifies of the command whose arguments commander rejects, before the error is thrown. */
function reportParseErrors(command: Command, onError: (command: Command) => void): void {
  command.exitOverride((error) => {
    onError(command);
    throw error;
  });
  for (const child of command.commands) reportParseErrors(child, onError);
}

/** The words that run a command: `latchkey sessions revoke`. */
const pathOf = (command: Command): string =>
  command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();

/** Turns commander's errors into sentences. */
function asUsageError(error: unknown, command: Command | undefined): unknown {
  if (!(error instanceof CommanderError)) return error;
  if (error.code === 'commander.excessArguments' && command && command.commands.length > 0) {
    const [word = ''] = command.args;
    const names = command.commands.map((child) => `${command.name()} ${child.name()}`);
    return new UsageError(`Unknown command '${command.name()} ${word}'. Available: ${names.join(', ')}.`);
  }
  return new UsageError(usageSentence(error.message));
}

function report(output: Output, failure: Failure): void {
  const { status, code, message, hint, requestId, retryAfterSeconds } = failure;
  const value = {
    error: code,
    error_description: message,
    hint,
    exit_status: status,
    request_id: requestId,
    retry_after: retryAfterSeconds,
  };
  output.message(value, () => [`latchkey: ${message}`, ...(hint === undefined ? [] : [hint])]);
}

/** Waits for all output, and reports a failed write. A closed pipe counts as success: its reader has seen enough. */
async function flush(output: Output): Promise<number | undefined> {
  try {
    await output.flush();
    return undefined;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EPIPE') return undefined;
    const message = `The result could not be written: ${systemReason(error)}.`;
    const hint = 'Write it somewhere else.';
    report(output, { status: exitStatus.tryAgain, code: 'output_failed', message, hint });
    await output.flush().catch(() => {});
    return exitStatus.tryAgain;
  }
}
