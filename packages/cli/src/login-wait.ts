// What waiting for a browser has in common, however the login came about.

import { loginNamed } from '@latchkey/client/credentials';
import type { DeviceLogin } from '@latchkey/client/device-login';
import type { StoredConnection } from './connection.ts';
import type { Context } from './context.ts';
import { Cancelled } from './exit.ts';
import { countdown } from './text.ts';

type Started = Pick<DeviceLogin, 'expiresInSeconds' | 'cancel'>;

const progressMs = 1_000;
/** How long to wait after Ctrl-C for the server to confirm the cancellation. */
const cancelMs = 2_000;

/**
 * Says what the work waits for; on a terminal in one line with the time that is left, which fits 34 columns.
 * @param note what to say instead; null for no line
 */
export async function showTimeLeft<T>(
  { output }: Context,
  waiting: 'approval' | 'browser',
  { expiresInSeconds }: Started,
  work: () => Promise<T>,
  note: () => string | null | undefined = () => undefined,
): Promise<T> {
  if (!output.interactive) output.message({ waiting }, () => [`Waiting for your ${waiting}.`]);
  const beganAt = performance.now();
  const show = () => {
    const left = Math.max(0, expiresInSeconds - (performance.now() - beganAt) / 1000);
    const noted = note();
    const text = noted === undefined ? `Waiting for your ${waiting}` : noted;
    output.progress(text === null ? undefined : `${text} (${countdown(left)})`);
  };
  show();
  const timer = setInterval(show, progressMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    output.progress();
  }
}

/** Cancels a login, and a session that it has already started. */
export async function cancelLogin({ stored }: StoredConnection, started: Started): Promise<Cancelled> {
  try {
    await started.cancel(cancelMs);
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
