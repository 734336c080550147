import { Argument, Command, CommanderError } from 'commander';
import manifest from '../package.json' with { type: 'json' };
import type { Shell } from './commands/completion.ts';
import type { Config } from './config.ts';
import { loginCommand } from './connection.ts';
import type { Context } from './context.ts';
import { exitStatus, type Failure, failureOf, ReportedError, UsageError } from './exit.ts';
import { createOutput, type Output, type TextStream } from './output.ts';

export interface Environment {
  /** Without the program's own name. */
  readonly args: readonly string[];
  readonly config: Config;
  readonly stdout: TextStream;
  readonly stderr: TextStream;
  readonly signal: AbortSignal;
}

interface GlobalOptions {
  readonly json?: boolean;
  readonly server?: string;
  readonly insecureHttp?: boolean;
}

type Perform = (command: Command, work: (ctx: Context) => Promise<void>) => Promise<void>;

/** Runs one command, from its arguments to its exit status. Whatever goes wrong is told; nothing is thrown. */
export async function run({ args, config, stdout, stderr, signal }: Environment): Promise<number> {
  // Also said of arguments that cannot be understood.
  const json = args.slice(0, args.includes('--') ? args.indexOf('--') : undefined).includes('--json');
  const output = createOutput({ stdout, stderr, json, ...config });
  let server: string | undefined;
  let insecureHttp = false;
  const program = createProgram(output, async (command, work) => {
    ({ server, insecureHttp = false } = command.optsWithGlobals<GlobalOptions>());
    await work({ config, output, signal, server, insecureHttp });
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
      const failure = failureOf(usageOf(error), { login: loginCommand({ server, insecureHttp }) });
      tell(output, failure);
      status = failure.status;
    }
  }
  return (await unwritten(output)) ?? status;
}

/** The commands; each one's code is loaded when it is run. */
function createProgram(output: Output, perform: Perform): Command {
  const program = new Command('latchkey')
    .description('Log in to Latchkey from the command line, and look after your logins.')
    .version(manifest.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand(false)
    .option('--server <url>', 'the server to talk to (default: the one last logged in to)')
    .option('--insecure-http', 'allow an unencrypted connection to a server on another machine')
    .option('--json', 'print results as JSON, and everything else as JSON lines')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => {
        const said = text.trim();
        const value = said === manifest.version ? { version: said } : { help: said };
        output.result(value, () => text.trimEnd().split('\n'));
      },
      writeErr: () => {},
    })
    .exitOverride();

  program
    .command('login')
    .description('log in, in a browser on this or any other machine')
    .option('--no-browser', 'open no browser, only print the link')
    .option('--device-name <name>', 'what to call this machine (default: its host name)')
    .action((options, command) =>
      perform(command, async (ctx) => (await import('./commands/login.ts')).login(ctx, options)),
    );
  program
    .command('logout')
    .description('end this login')
    .option('--all', 'end every login of yours, on every device')
    .action((options, command) =>
      perform(command, async (ctx) => (await import('./commands/logout.ts')).logout(ctx, options)),
    );
  program
    .command('token')
    .description('print a valid access token, for scripts')
    .action((_, command) =>
      perform(command, async (ctx) => (await import('./commands/token.ts')).token(ctx)),
    );
  program
    .command('whoami')
    .description('print who is logged in')
    .action((_, command) =>
      perform(command, async (ctx) => (await import('./commands/whoami.ts')).whoami(ctx)),
    );
  const sessions = program
    .command('sessions')
    .description('list your logins')
    .action((_, command) =>
      perform(command, async (ctx) => (await import('./commands/sessions.ts')).listSessions(ctx)),
    );
  sessions
    .command('revoke')
    .description('end one of your logins')
    .argument('<id>', 'its ID, as `latchkey sessions` shows it')
    .action((id: string, _, command) =>
      perform(command, async (ctx) => (await import('./commands/sessions.ts')).revokeSession(ctx, id)),
    );
  program
    .command('organizations')
    .description('list the organizations you belong to')
    .action((_, command) =>
      perform(command, async (ctx) => (await import('./commands/organizations.ts')).organizations(ctx)),
    );
  program
    .command('passkeys')
    .description('list your passkeys')
    .action((_, command) =>
      perform(command, async (ctx) => (await import('./commands/passkeys.ts')).passkeys(ctx)),
    );
  const profile = program
    .command('profile')
    .description('print your profile')
    .action((_, command) =>
      perform(command, async (ctx) => (await import('./commands/profile.ts')).showProfile(ctx)),
    );
  profile
    .command('set')
    .description('change your profile')
    .option('--name <name>', 'your name')
    .option('--locale <tag>', 'your language, like de-CH; empty to clear')
    .option('--time-zone <name>', 'your time zone, like Europe/Zurich; empty to clear')
    .action((options, command) =>
      perform(command, async (ctx) => (await import('./commands/profile.ts')).setProfile(ctx, options)),
    );
  program
    .command('doctor')
    .description('look for what could be wrong: server, clock, credentials, proxies')
    .action((_, command) =>
      perform(command, async (ctx) => (await import('./commands/doctor.ts')).doctor(ctx)),
    );
  program
    .command('completion')
    .description('print a completion script for a shell')
    .addArgument(new Argument('<shell>', 'bash, zsh or fish').choices(['bash', 'zsh', 'fish']))
    .action((shell: Shell, _, command) =>
      perform(command, async (ctx) =>
        (await import('./commands/completion.ts')).completion(ctx, shell, program),
      ),
    );
  program
    .command('help')
    .description('print this help, or that of a command')
    .argument('[command...]', 'the command, like `sessions revoke`')
    .action((names: readonly string[]) => commandNamed(program, names).outputHelp());
  return program;
}

/** @throws {UsageError} */
function commandNamed(program: Command, names: readonly string[]): Command {
  return names.reduce((command, name) => {
    const found = command.commands.find((one) => one.name() === name);
    if (!found) throw new UsageError(`Unknown command '${names.join(' ')}'.`);
    return found;
  }, program);
}

/** What commander refuses is a wrong use. */
function usageOf(error: unknown): unknown {
  if (!(error instanceof CommanderError)) return error;
  const [first = '', suggestion] = error.message.split('\n');
  const sentence = first.replace(/^error: (.)/, (_, letter: string) => letter.toUpperCase());
  return new UsageError(`${sentence.replace(/\.$/, '')}.${suggestion ? ` ${suggestion}` : ''}`);
}

function tell(output: Output, failure: Failure): void {
  const { status, code, message, hint, requestId, retryAfterSeconds } = failure;
  const said = {
    error: code,
    error_description: message,
    ...(hint === undefined ? {} : { hint }),
    exit_status: status,
    ...(requestId === undefined ? {} : { request_id: requestId }),
    ...(retryAfterSeconds === undefined ? {} : { retry_after: retryAfterSeconds }),
  };
  output.message(said, () => [`latchkey: ${message}`, ...(hint === undefined ? [] : [hint])]);
}

/** Waits for all output. A reader who has gone away has had enough; any other failure counts. */
async function unwritten(output: Output): Promise<number | undefined> {
  try {
    await output.flush();
    return undefined;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EPIPE') return undefined;
    const reason = error instanceof Error ? error.message : String(error);
    const message = `The result could not be written: ${reason}.`;
    const hint = 'Make room, or write it elsewhere.';
    tell(output, { status: exitStatus.tryAgain, code: 'output_failed', message, hint });
    await output.flush().catch(() => {});
    return exitStatus.tryAgain;
  }
}
