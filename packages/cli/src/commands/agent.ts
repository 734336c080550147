import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { isAbsolute } from 'node:path';
import { isatty } from 'node:tty';
import { LatchkeyError } from '@latchkey/client/errors';
import { type RunningAgent, startAgent } from '@latchkey/client/internal/agent-server';
import { systemCode, systemReason } from '@latchkey/client/internal/storage/store-failure';
import { type AgentOptions, readPolicy } from '../agent-policy.ts';
import { type Asker, askOnce, findAsker } from '../agent-question.ts';
import { connectStored } from '../connection.ts';
import type { Context } from '../context.ts';
import { Cancelled, ReportedError, UsageError } from '../exit.ts';
import { createHeldOutput, type HeldOutput } from '../held-output.ts';

/** As shells report a program that cannot be started or does not exist. */
const cannotStart = 126;
const notFound = 127;

/** `latchkey agent`: hands out tokens of this login until it is interrupted. */
export async function agent(ctx: Context, options: AgentOptions): Promise<void> {
  const { ask, ...policy } = await readPolicy(options);
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
  const { ask, ...policy } = await readPolicy(options);
  const held = ask ? createHeldOutput(ctx.output) : undefined;
  const ended = new AbortController();
  const asker = held && (await findAsker(ctx, ended.signal, held));
  const { running, server } = await start(ctx, policy, asker, policy.forwards.length > 0);
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
  const connection = await connectStored(ctx);
  // Fails at the start rather than at the first request.
  await connection.session.accessToken({ signal: ctx.signal });
  const { runtimeDirectory } = ctx.config.sessionBus;
  const running = await startAgent(
    connection,
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
  return { running, server: connection.server };
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

/**
 * The same for a program about which the person is asked: in a session of its own, so that it has no terminal to answer on, or to write over
 * the question.
 */
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
