import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { isAbsolute } from 'node:path';
import { isatty } from 'node:tty';
import { type RunningAgent, startAgent } from '@latchkey/client/internal/agent-server';
import { systemCode, systemReason } from '@latchkey/client/internal/storage/store-failure';
import { type AgentOptions, readPolicy } from '../agent-policy.ts';
import { askOnce, findAsker } from '../agent-question.ts';
import { connectStored } from '../connection.ts';
import type { Context } from '../context.ts';
import { Cancelled, ReportedError, UsageError } from '../exit.ts';

/** As shells report a program that cannot be started, or is not there. */
const cannotStart = 126;
const notFound = 127;

/** `latchkey agent`: hands out tokens of this login until it is interrupted. */
export async function agent(ctx: Context, options: AgentOptions): Promise<void> {
  const { running } = await start(ctx, options);
  ctx.output.result({ LATCHKEY_AGENT: running.address }, () => [`LATCHKEY_AGENT=${running.address}`]);
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
  const started = await start(ctx, options);
  let status: number;
  try {
    status = await runProgram(ctx, name, args, started);
  } catch (error) {
    const isMissing = systemCode(error) === 'ENOENT';
    const reason = isMissing ? 'there is no such program' : systemReason(error);
    ctx.output.message({ error: 'not_started', program: name }, () => [
      `latchkey: ${name} could not be started: ${reason}.`,
    ]);
    status = isMissing ? notFound : cannotStart;
  } finally {
    await stop(ctx, started.running);
  }
  if (status !== 0) throw new ReportedError(status);
}

async function start(ctx: Context, options: AgentOptions) {
  const { ask, listen, ...policy } = await readPolicy(options);
  const port = listenPort(listen);
  const asker = ask ? await findAsker(ctx) : undefined;
  const connection = await connectStored(ctx);
  // Fails at the start rather than at the first request.
  await connection.session.accessToken({ signal: ctx.signal });
  const { runtimeDirectory } = ctx.config.sessionBus;
  const running = await startAgent(
    connection,
    { ...policy, isAllowed: asker && askOnce(asker) },
    {
      port,
      runtimeDirectory: runtimeDirectory && isAbsolute(runtimeDirectory) ? runtimeDirectory : undefined,
    },
  ).catch((error: unknown) => {
    throw new UsageError(`The agent cannot listen there: ${systemReason(error)}.`);
  });
  return { running, server: connection.server, keepsInput: asker !== undefined && ctx.prompt.isPossible };
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

/** Resolves with the status of the program, or 128 and the signal that ended it. */
function runProgram(
  { config, takeSignals }: Context,
  name: string,
  args: readonly string[],
  { running, server, keepsInput }: Awaited<ReturnType<typeof start>>,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(name, args, {
      // The agent reads the answers to its own questions.
      stdio: [keepsInput ? 'ignore' : 'inherit', 'inherit', 'inherit'],
      env: { ...config.programEnvironment, LATCHKEY_AGENT: running.address, LATCHKEY_SERVER: server },
    });
    // The program decides what a signal does, and this one ends with it. A terminal sends Ctrl-C to both.
    takeSignals((signal) => {
      if (signal !== 'SIGINT' || !isatty(0)) child.kill(signal);
    });
    child.on('error', reject);
    child.on('exit', (code, signal) => resolve(code ?? 128 + (constants.signals[signal ?? 'SIGKILL'] ?? 0)));
  });
}
