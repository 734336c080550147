// The person's word before the first token of an agent with a scope.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Context } from './context.ts';
import { UsageError } from './exit.ts';

/** The person's answer; undefined if there was none. */
type Asker = (question: string) => Promise<boolean | undefined>;

const notifier = 'notify-send';

/** Less than a program waits for its token. */
const answerMilliseconds = 240_000;

/** Asks on the terminal, else with a notification of the desktop. @throws {UsageError} if there is neither a terminal nor a desktop */
export async function findAsker({ prompt, config, signal }: Context): Promise<Asker> {
  if (prompt.isPossible) {
    return async (question) => {
      const typed = await prompt.ask(`${question} Allow it? [y/N]`);
      return typed === undefined ? undefined : /^y(es)?$/i.test(typed);
    };
  }
  if (config.hasScreen && (await notify(signal, '--version')) !== undefined)
    return (question) => askOnDesktop(question, signal);
  throw new UsageError('--ask needs a terminal, or a desktop with notify-send.');
}

/** Asks before the first token with a scope and resource, one question at a time, and remembers the answer. */
export function askOnce(ask: Asker) {
  const answers = new Map<string, boolean>();
  let last: Promise<unknown> = Promise.resolve();
  return (scopes: readonly string[], resource: string | undefined): Promise<boolean> => {
    const where = resource === undefined ? '' : ` at ${resource}`;
    const turn = last.then(async () => {
      const unknown = scopes.filter((scope) => !answers.has(scope + where));
      if (scopes.some((scope) => answers.get(scope + where) === false)) return false;
      if (unknown.length === 0) return true;
      const answer = await ask(`A program wants ${unknown.join(' ')}${where}.`);
      if (answer !== undefined) for (const scope of unknown) answers.set(scope + where, answer);
      return answer === true;
    });
    last = turn.catch(() => {});
    return turn;
  };
}

async function askOnDesktop(question: string, signal: AbortSignal): Promise<boolean | undefined> {
  // Notifications may hold markup.
  const text = question.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
  const buttons = ['--action=allow=Allow', '--action=deny=Deny'];
  const pressed = await notify(
    signal,
    '--app-name=Latchkey',
    '--urgency=critical',
    ...buttons,
    'Latchkey',
    text,
  );
  return pressed === 'allow' || (pressed === 'deny' ? false : undefined);
}

/** What `notify-send` prints; undefined if it is not there or fails. */
const notify = (signal: AbortSignal, ...args: string[]): Promise<string | undefined> =>
  promisify(execFile)(notifier, args, { timeout: answerMilliseconds, signal }).then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  );
