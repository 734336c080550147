// The person's word before the first token of an agent with a scope.

import { execFile } from 'node:child_process';
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
} from 'node:fs';
import { promisify } from 'node:util';
import { LatchkeyError } from '@latchkey/client/errors';
import type { AskedAccess } from '@latchkey/client/internal/agent-server';
import { systemClock } from '@latchkey/client/internal/clock';
import { systemCode } from '@latchkey/client/internal/storage/store-failure';
import type { Context } from './context.ts';
import { UsageError } from './exit.ts';
import type { HeldOutput } from './held-output.ts';
import type { TextSource } from './text-input.ts';

/** The person's answer; undefined if there was none. */
export type Asker = (question: string) => Promise<boolean | undefined>;

const notifier = 'notify-send';

/** Less than a program waits for its token. */
const answerMs = 240_000;
const pollMs = 50;
const maxQuestionsPerMinute = 6;
const minuteMs = 60_000;

/**
 * Asks on the terminal, or else with a desktop notification.
 * @param programOutput of the program that the agent runs, if it does
 * @param signal ends a question without an answer
 * @throws {UsageError} if there is neither a terminal for it nor a desktop
 */
export async function findAsker(
  ctx: Context,
  signal: AbortSignal,
  programOutput?: HeldOutput,
): Promise<Asker> {
  const obstacle = terminalObstacle(ctx, programOutput);
  if (obstacle === undefined) {
    const askHere = (question: string) => askOnOwnTerminal(ctx, question, signal, programOutput);
    return programOutput ? (question) => programOutput.hold(() => askHere(question)) : askHere;
  }
  if (!ctx.config.hasScreen || (await notify(signal, '--version')) === undefined)
    throw new UsageError('--ask needs a terminal of its own, or a desktop with notify-send.', obstacle);
  const ask = (question: string) => askOnDesktop(question, signal);
  return programOutput ? (question) => programOutput.hold(() => ask(question)) : ask;
}

/** Why a question on the terminal could be answered, or repainted, by the requesting program. */
function terminalObstacle({ prompt }: Context, programOutput: HeldOutput | undefined): string | undefined {
  if (!prompt.isPossible || !hasTerminal()) return 'Standard input or standard error is no terminal.';
  if (programOutput && isPipe(1))
    return 'The reader of a pipe could write to the terminal: send the output to a file.';
  return sharedTerminal(programOutput);
}

/** The asking program may be any on the terminal. That of `agent run` may still open it by its path. */
function sharedTerminal(programOutput: HeldOutput | undefined): string | undefined {
  const sharer = findTerminalSharer({ outside: programOutput !== undefined });
  return sharer && `Another program uses this terminal: ${sharer}.`;
}

async function askOnOwnTerminal(
  ctx: Context,
  question: string,
  signal: AbortSignal,
  programOutput: HeldOutput | undefined,
): Promise<boolean | undefined> {
  let obstacle = sharedTerminal(programOutput);
  if (obstacle === undefined) {
    const answer = await askOnTerminal(ctx, question, signal);
    // It may have been opened since, to repaint the question.
    if (answer === true) obstacle = sharedTerminal(programOutput);
    if (obstacle === undefined) return answer;
  }
  const warning = { warning: 'terminal_shared', description: obstacle };
  ctx.output.message(warning, () => [`latchkey: ${question} It is refused. ${obstacle}`]);
  return undefined;
}

/**
 * Asks before the first token with a scope and resource, one question at a time, and remembers the answer. A refusal holds for
 * each name of the scope, at every resource.
 * @param now in milliseconds, by a clock that is never set
 */
export function askOnce(ask: Asker, now: () => number = () => performance.now()) {
  const allowed = new Set<string>();
  const refused = new Set<string>();
  let askedAt: readonly number[] = [];
  let last: Promise<unknown> = Promise.resolve();
  return async ({ scopes, resource, forwardedAs, requirePossible }: AskedAccess): Promise<boolean> => {
    // Permission to forward requests is none to hand out their token.
    const use = forwardedAs === undefined ? '' : `, for requests forwarded as ${forwardedAs}`;
    const wanted = scopes.join(' ') + (resource === undefined ? '' : ` at ${resource}`) + use;
    const known = () =>
      scopes.some((scope) => refused.has(scope)) ? false : allowed.has(wanted) || undefined;
    const askNow = async (): Promise<boolean> => {
      askedAt = askedAt.filter((time) => now() - time < minuteMs);
      if (askedAt.length >= maxQuestionsPerMinute) {
        const limit = `The agent asks its user at most ${maxQuestionsPerMinute} questions a minute.`;
        throw new LatchkeyError('rate_limited', limit);
      }
      await requirePossible();
      askedAt = [...askedAt, now()];
      const answer = await ask(`A program wants ${wanted}.`);
      if (answer === true) allowed.add(wanted);
      if (answer === false) for (const scope of scopes) refused.add(scope);
      return answer === true;
    };
    // What needs no question does not wait for one that is open.
    const earlier = known();
    if (earlier !== undefined) return earlier;
    const turn = last.then(() => known() ?? askNow());
    last = turn.catch(() => {});
    return turn;
  };
}

function isPipe(descriptor: number): boolean {
  const found = fstatSync(descriptor);
  return found.isFIFO() || found.isSocket();
}

/** Undefined where the system refuses. */
function ifPossible<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function hasTerminal(): boolean {
  const terminal = ifPossible(openTerminal);
  if (terminal !== undefined) closeSync(terminal);
  return terminal !== undefined;
}

/** The terminal, for reads that never wait: they take nothing typed for another program or too early. */
const openTerminal = (): number =>
  openSync('/dev/tty', constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);

async function askOnTerminal(
  { stdin, output }: Context,
  question: string,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  const terminal = openTerminal();
  try {
    discardTyped(terminal, stdin());
    output.question(`${question} Allow it? [y/N] `);
    const line = await readTyped(terminal, signal);
    if (line === undefined) output.question('\n');
    return line === undefined ? undefined : /^y(es)?$/i.test(line.trim());
  } finally {
    closeSync(terminal);
  }
}

/** Discards what was typed so far, including an unfinished line, which the terminal hands out only in raw mode. */
function discardTyped(terminal: number, stdin: TextSource): void {
  stdin.setRawMode?.(true);
  try {
    let bytes = readAvailable(terminal);
    while (bytes && bytes.length > 0) bytes = readAvailable(terminal);
  } finally {
    stdin.setRawMode?.(false);
  }
}

/** The next line. Undefined at the end of the input, or if the signal or the time ends first. */
async function readTyped(terminal: number, signal: AbortSignal): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let typed = '';
  const deadline = performance.now() + answerMs;
  while (!signal.aborted && performance.now() < deadline) {
    const bytes = readAvailable(terminal);
    if (bytes?.length === 0) return undefined;
    typed += decoder.decode(bytes, { stream: true });
    if (typed.includes('\n')) return typed.split('\n')[0];
    await systemClock.sleep(pollMs, signal).catch(() => {});
  }
  return undefined;
}

/** Undefined if nothing is there; empty at the end of the input. */
function readAvailable(terminal: number): Uint8Array | undefined {
  const buffer = new Uint8Array(1024);
  try {
    return buffer.subarray(0, readSync(terminal, buffer));
  } catch (error) {
    if (systemCode(error) === 'EAGAIN') return undefined;
    // The terminal is gone.
    return buffer.subarray(0, 0);
  }
}

async function askOnDesktop(question: string, signal: AbortSignal): Promise<boolean | undefined> {
  // Notifications may hold markup.
  const text = question.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
  const options = ['--app-name=Latchkey', '--urgency=critical'];
  const buttons = ['--action=allow=Allow', '--action=deny=Deny'];
  const pressed = await notify(signal, ...options, ...buttons, 'Latchkey', text);
  return pressed === 'allow' || (pressed === 'deny' ? false : undefined);
}

/** What `notify-send` prints; undefined if it is missing or fails. */
const notify = (signal: AbortSignal, ...args: string[]): Promise<string | undefined> =>
  promisify(execFile)(notifier, args, { timeout: answerMs, signal }).then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  );

// Who else could write to the terminal of this program, or type on it.

/**
 * A process on the terminal of this one that it was not started from, as `name (ID)`. One in another session counts if it has the terminal
 * open. Undefined if there is none, or if the system does not tell: only Linux does.
 * @param outside counts other sessions only
 */
function findTerminalSharer({ outside }: { readonly outside: boolean }): string | undefined {
  const self = readProcess('self');
  if (!self) return undefined;
  const ancestors = new Set<string>();
  for (let one: Process | undefined = self; one && !ancestors.has(one.id); one = readProcess(one.parent))
    ancestors.add(one.id);
  const path = linkOf('/proc/self/fd/0');
  for (const id of readdirSync('/proc')) {
    if (!/^\d+$/.test(id) || ancestors.has(id)) continue;
    const other = readProcess(id);
    if (!other || other.state === 'Z' || (outside && other.session === self.session)) continue;
    if (other.terminal === self.terminal || hasOpen(id, path)) return `${other.name} (${id})`;
  }
  return undefined;
}

interface Process {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly parent: string;
  readonly session: string;
  /** The number of the controlling terminal. */
  readonly terminal: string;
}

/** Undefined if it has ended. @see proc_pid_stat(5) */
function readProcess(id: string): Process | undefined {
  const stat = ifPossible(() => readFileSync(`/proc/${id}/stat`, 'utf8')) ?? '';
  const [, pid, name, fields] = /^(\d+) \((.*)\) (.*)$/s.exec(stat) ?? [];
  const [state, parent, , session, terminal] = fields?.split(' ') ?? [];
  if (!pid || name === undefined || !state || !parent || !session || !terminal) return undefined;
  return { id: pid, name, state, parent, session, terminal };
}

/** False if it has ended, or belongs to another user. */
function hasOpen(id: string, path: string | undefined): boolean {
  const directory = `/proc/${id}/fd`;
  const descriptors = ifPossible(() => readdirSync(directory)) ?? [];
  return descriptors.some((descriptor) => linkOf(`${directory}/${descriptor}`) === path);
}

const linkOf = (link: string): string | undefined => ifPossible(() => readlinkSync(link));
