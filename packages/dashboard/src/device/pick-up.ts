import { listNewestSessions } from '../api.ts';

const pollMilliseconds = 2_000;
const giveUpMilliseconds = 600_000;

const pause = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

/**
 * Whether, within ten minutes, a device login appears that is not among `known`: then the terminal has what it
 * waited for. A lost answer or a full server is only a reason to ask again; a login that is over is not.
 */
export async function waitForPickUp(known: ReadonlySet<string>): Promise<boolean> {
  const until = Date.now() + giveUpMilliseconds;
  while (Date.now() < until) {
    const result = await listNewestSessions();
    if (result.ok && result.value.sessions.some(({ id, kind }) => kind === 'device' && !known.has(id)))
      return true;
    if (!result.ok && ['invalid_token', 'somebody_else'].includes(result.problem.code)) return false;
    const retryAfterSeconds = result.ok ? 0 : (result.problem.retryAfterSeconds ?? 0);
    await pause(Math.max(pollMilliseconds, retryAfterSeconds * 1000));
  }
  return false;
}
