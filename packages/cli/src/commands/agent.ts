import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { isAbsolute } from 'node:path';
import { isatty } from 'node:tty';
import { storeOfOneLogin } from '@latchkey/client/credentials';
import { hasCode, LatchkeyError } from '@latchkey/client/errors';
import type { ForwardTarget } from '@latchkey/client/internal/agent-forwarder';
import { agentLifetimeSeconds } from '@latchkey/client/internal/agent-runs';
import { type RunningAgent, startAgent } from '@latchkey/client/internal/agent-server';
import { isLoopbackHost } from '@latchkey/client/internal/loopback';
import { requireStoredLogin } from '@latchkey/client/internal/refresh';
import { canonicalResource } from '@latchkey/client/internal/resource';
import { EndlessFileError, readSmallFile } from '@latchkey/client/internal/small-file';
import { systemCode, systemReason } from '@latchkey/client/internal/storage/store-failure';
import { openSession } from '@latchkey/client/session';
import { type Asker, askOnce, findAsker } from '../agent-question.ts';
import { connectStored } from '../connection.ts';
import type { Context } from '../context.ts';
import { Cancelled, ReportedError, UsageError } from '../exit.ts';
import { createHeldOutput, type HeldOutput } from '../held-output.ts';
import { parseDuration, requestedAccess } from '../text-input.ts';

/** As shells report a program that cannot be started or does not exist. */
const cannotStart = 126;
const notFound = 127;

/** `latchkey agent`: hands out tokens of this login until it is interrupted. */
export async function agent(ctx: Context, options: AgentOptions): Promise<void> {
  const { ask, ...policy } = await readPolicy(ctx, options);
  const asker = ask ? await findAsker(ctx, ctx.signal) : undefined;
  const { running } = await start(ctx, policy, asker);
  const { variables } = running;
  ctx.output.result(variables, () => Object.entries(variables).map(([name, value]) => `${name}=${value}`));
  if (!ctx.signal.aborted) await once(ctx.signal, 'abort');
  await stop(ctx, running);
  throw new Cancelled('The agent has stopped.');
}

/** `latchkey agent run -- COMMAND`: runs a program that gets its tokens from an agent, and ends with its status. */
export async function agentRun(
  ctx: Context,
  [name = '', ...args]: readonly string[],
  options: AgentOptions,
): Promise<void> {
  const { ask, ...policy } = await readPolicy(ctx, options);
  const held = ask ? createHeldOutput(ctx.output) : undefined;
  const ended = new AbortController();
  const asker = held && (await findAsker(ctx, ended.signal, held));
  const { running, server } = await start(ctx, policy, asker, policy.forwards.length > 0);
  // Later ones are the program's.
  if (ctx.signal.aborted) {
    await stop(ctx, running);
    throw new Cancelled(`Cancelled. ${name} was not started.`);
  }
  const env = { ...ctx.config.programEnvironment, ...running.variables, LATCHKEY_SERVER: server };
  const program = { name, args, env };
  let status: number;
  try {
    status = await (held ? runApart(ctx, program, held, ended) : runProgram(ctx, program));
  } catch (error) {
    const isMissing = systemCode(error) === 'ENOENT';
    const reason = isMissing ? 'there is no such program' : systemReason(error);
    ctx.output.message({ error: 'not_started', program: name }, () => [
      `latchkey: ${name} could not be started: ${reason}.`,
    ]);
    status = isMissing ? notFound : cannotStart;
  } finally {
    ended.abort();
    await stop(ctx, running);
  }
  if (status !== 0) throw new ReportedError(status);
}

async function start(
  ctx: Context,
  { listen, ...policy }: Omit<Awaited<ReturnType<typeof readPolicy>>, 'ask'>,
  asker: Asker | undefined,
  needsForwardPort = false,
) {
  const port = listenPort(listen);
  const { api, server, stored } = await connectStored(ctx);
  // The person who started the agent did not agree to another login.
  const store = storeOfOneLogin(stored.store, await requireStoredLogin(stored.store));
  const session = openSession({ api, store });
  // Fails at the start rather than at the first request.
  await session.accessToken({ signal: ctx.signal });
  const { runtimeDirectory } = ctx.config.sessionBus;
  const running = await startAgent(
    { api, session },
    { ...policy, isAllowed: asker && askOnce(asker) },
    {
      port,
      needsForwardPort,
      runtimeDirectory: runtimeDirectory && isAbsolute(runtimeDirectory) ? runtimeDirectory : undefined,
    },
  ).catch((error: unknown) => {
    if (error instanceof LatchkeyError) throw error;
    throw new UsageError(`The agent cannot listen there: ${systemReason(error)}.`);
  });
  return { running, server };
}

/** @throws {UsageError} */
function listenPort(listen: string | undefined): number | undefined {
  if (listen === undefined) return undefined;
  const [, port = ''] = /^127\.0\.0\.1:(\d{1,5})$/.exec(listen) ?? [];
  if (port === '' || Number(port) > 65_535) throw new UsageError('--listen takes 127.0.0.1:PORT.');
  return Number(port);
}

async function stop({ output }: Context, running: RunningAgent): Promise<void> {
  if (await running.stop()) return;
  const description =
    'The server did not confirm that all tokens of the agent have ended. They expire within 15 minutes.';
  output.message({ warning: 'runs_not_ended', description }, () => [`latchkey: Warning: ${description}`]);
}

interface Program {
  readonly name: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

/** Resolves with the status of the program, or 128 and the signal that ended it. */
function runProgram({ takeSignals }: Context, { name, args, env }: Program): Promise<number> {
  const child = spawn(name, args, { stdio: 'inherit', env });
  // The program decides what a signal does, and this one ends with it. A terminal sends Ctrl-C to both.
  takeSignals((signal) => {
    if (signal !== 'SIGINT' || !isatty(0)) child.kill(signal);
  });
  return statusOf(child);
}

/** The same in a session of its own: a program that is asked about can neither answer nor write over it. */
async function runApart(
  { takeSignals, signalGroup }: Context,
  { name, args, env }: Program,
  output: HeldOutput,
  ended: AbortController,
): Promise<number> {
  const child = spawn(name, args, {
    detached: true,
    stdio: [isatty(0) ? 'ignore' : 'inherit', 'pipe', 'pipe'],
    env,
  });
  // The terminal, which would send a signal to the whole group, does not know it.
  takeSignals((signal) => {
    if (child.pid !== undefined) signalGroup(child.pid, signal);
  });
  output.relay(child.stdout, 'stdout');
  output.relay(child.stderr, 'stderr');
  const status = await statusOf(child);
  ended.abort();
  await output.drain();
  return status;
}

const statusOf = (child: ChildProcess): Promise<number> =>
  new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code, signal) => resolve(code ?? 128 + (constants.signals[signal ?? 'SIGKILL'] ?? 0)));
  });

// What an agent may hand out, as options and as a file.

/** The options of `latchkey agent`. The file has the same, except its own name. */
interface AgentOptions {
  readonly policy?: string;
  readonly scope?: readonly string[];
  readonly resource?: string;
  readonly expires?: string;
  readonly listen?: string;
  readonly forward?: readonly string[];
  readonly ask?: boolean;
}

/** Options override the file. @throws {UsageError} */
async function readPolicy({ signal }: Context, { policy: file, ...options }: AgentOptions) {
  const {
    scope,
    resource,
    expires,
    listen,
    forward = [],
    ask = false,
  } = { ...(file === undefined ? {} : await readFileOptions(file, signal)), ...options };
  const scopes = scope ? requestedAccess(scope, resource).scope.split(' ') : [];
  if (scopes.includes('*'))
    throw new UsageError('An agent never hands out *.', 'Name the scopes to hand out.');
  // The parser of URLs ignores white space around one.
  if (resource !== undefined && (/\s/.test(resource) || !URL.canParse(resource)))
    throw new UsageError('A resource is a URI.');
  const forwards = forward.map(forwardTarget);
  if (new Set(forwards.map(({ name }) => name)).size < forwards.length)
    throw new UsageError('Each --forward needs a name of its own.');
  // On its socket these are paths of the agent.
  const own = forwards.find(({ name }) => name === 'agent' || name === 'token');
  if (own) throw new UsageError(`No --forward can have the name ${own.name}.`);
  const { min, max } = agentLifetimeSeconds;
  const maxLifetimeSeconds = expires === undefined ? max : parseDuration('--expires', expires);
  if (maxLifetimeSeconds < min || maxLifetimeSeconds > max)
    throw new UsageError('A token of an agent can expire in 60 seconds to 15 minutes.');
  return { scopes, resource, maxLifetimeSeconds, listen, forwards, ask };
}

const targetPattern = /^([a-z][a-z0-9-]{0,31})=([^\s?#]+)((?:\s+[a-z][a-z0-9_.:-]{0,63})+)$/;

/** @throws {UsageError} */
function forwardTarget(text: string): ForwardTarget {
  const [, name = '', address = '', scopes = ''] = targetPattern.exec(text.trim()) ?? [];
  const url = URL.parse(address);
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackHost(url.hostname));
  if (isSafe && url.username + url.password === '')
    return { name, resource: canonicalResource(address), scopes: [...new Set(scopes.trim().split(/\s+/))] };
  throw new UsageError(
    "--forward takes 'NAME=URL SCOPE…': a name of lowercase letters, digits and hyphens, an https URL or http on this machine, and scopes other than *.",
    "It looks like --forward 'tickets=https://tickets.example tickets:read'.",
  );
}

const isText = (value: unknown): boolean => typeof value === 'string';
const members = new Map<string, (value: unknown) => boolean>(
  Object.entries({
    scope: (value: unknown) => Array.isArray(value) && value.every(isText),
    resource: isText,
    forward: (value: unknown) => Array.isArray(value) && value.every(isText),
    expires: isText,
    listen: isText,
    ask: (value: unknown) => typeof value === 'boolean',
  }),
);

/** @throws {UsageError} */
async function readFileOptions(file: string, signal: AbortSignal): Promise<AgentOptions> {
  let options: unknown;
  try {
    options = JSON.parse(await readSmallFile(file, signal));
  } catch (error) {
    if (hasCode(error, 'aborted')) throw error;
    const reason = error instanceof EndlessFileError ? error.message : 'cannot be read, or is not JSON';
    throw new UsageError(`The policy in ${file} ${reason}.`);
  }
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw new UsageError(`The policy in ${file} is not a JSON object.`);
  const wrong = Object.entries(options).find(([name, value]) => !members.get(name)?.(value));
  if (wrong) throw new UsageError(`The policy in ${file} has an invalid or unknown member "${wrong[0]}".`);
  return options;
}
