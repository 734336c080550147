// What waiting for a browser has in common, however the login came about.

import { loginNamed } from '@latchkey/client/credentials';
import type { StoredConnection } from './connection.ts';
import type { Context } from './context.ts';
import { Cancelled } from './exit.ts';
import { countdown } from './text.ts';

const progressMilliseconds = 1_000;
/** For the server to confirm after Ctrl-C that nothing can be approved any more. */
const cancelMilliseconds = 2_000;

/** Shows on a terminal how much time is left for the work, unless there is no line to show. */
export async function showTimeLeft<T>(
  { output }: Context,
  seconds: number,
  line: (left: string) => string | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const beganAt = performance.now();
  const show = () => {
    const left = seconds - (performance.now() - beganAt) / 1000;
    output.progress(line(countdown(Math.max(0, left))));
  };
  show();
  const timer = setInterval(show, progressMilliseconds);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    output.progress();
  }
}

interface Cancellable {
  cancel(timeoutMilliseconds?: number): Promise<void>;
}

/** Cancels a login, and a session that it has already started. */
export async function cancelLogin({ stored }: StoredConnection, started: Cancellable): Promise<Cancelled> {
  try {
    await started.cancel(cancelMilliseconds);
  } catch {
    return new Cancelled(
      'Login cancelled, but the server does not respond. Do not approve it; if you already have, look for the new session with `latchkey sessions`.',
    );
  }
  const isSignedIn = loginNamed(stored.held, stored.held.current ?? undefined) !== null;
  return new Cancelled(
    isSignedIn
      ? 'Login cancelled. Your existing login is unchanged.'
      : 'Login cancelled. Nothing was changed.',
  );
}
