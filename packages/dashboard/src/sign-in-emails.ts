import { safeNext } from './next.ts';
import { noteIn, tabNote } from './tab-note.ts';

/**
 * A sign-in email requested in this browser. It holds no secret: it only lets the page behind the link recognize the
 * browser that requested it, and continue to the right page.
 */
interface SentEmail {
  readonly email: string;
  /** When the email expires, in milliseconds since 1970. */
  readonly until: number;
  readonly next: string;
}

export const sentEmailKey = 'latchkey.asked';
const sentEmail = noteIn(() => localStorage, sentEmailKey);

// Every function here tolerates disabled storage: the pages then behave as in a browser that requested nothing.

export const rememberSentEmail = (sent: SentEmail): void => sentEmail.leave(JSON.stringify(sent));

/** Forgets the email, and with it the sign-in that this tab is waiting for. */
export function forgetSentEmail(): void {
  sentEmail.remove();
  forgetPendingSignIn();
}

/** The last email requested in this browser, unless it has expired by `now` or is malformed. */
export function recallSentEmail(now: number): SentEmail | undefined {
  try {
    return parseSentEmail(sentEmail.read(), location.origin, now);
  } catch {
    return undefined;
  }
}

/**
 * The sign-in this tab is waiting for. The emailed code only works together with `request`, which stays in this tab's
 * session storage so that the code can still be entered after a reload.
 */
export interface PendingSignIn extends SentEmail {
  readonly request: string;
}

const pendingSignIn = tabNote('waiting');

/** With storage disabled, the code can be entered until the page is reloaded. */
export function rememberPendingSignIn(pending: PendingSignIn): void {
  const { request: _, ...sent } = pending;
  rememberSentEmail(sent);
  pendingSignIn.leave(JSON.stringify(pending));
}

/** Stops waiting, because the person wants to use another address. The emailed link still works. */
export const forgetPendingSignIn = (): void => pendingSignIn.remove();

/** The sign-in this tab is waiting for, unless it has expired by `now` or has been completed in this browser. */
export function recallPendingSignIn(now: number): PendingSignIn | undefined {
  try {
    const pending = parsePendingSignIn(pendingSignIn.read(), location.origin, now);
    if (pending !== undefined && recallSentEmail(now) !== undefined) return pending;
  } catch {}
  forgetPendingSignIn();
  return undefined;
}

/** @see recallPendingSignIn */
export function parsePendingSignIn(
  stored: string | null,
  origin: string,
  now: number,
): PendingSignIn | undefined {
  const sent = parseSentEmail(stored, origin, now);
  if (stored === null || sent === undefined) return undefined;
  const { request } = JSON.parse(stored) as { request?: unknown };
  return typeof request === 'string' && request !== '' ? { ...sent, request } : undefined;
}

/** @see recallSentEmail */
export function parseSentEmail(stored: string | null, origin: string, now: number): SentEmail | undefined {
  if (stored === null) return undefined;
  const parsed: unknown = JSON.parse(stored);
  if (typeof parsed !== 'object' || parsed === null) return undefined;
  const { email, until, next } = parsed as Partial<Record<keyof SentEmail, unknown>>;
  if (typeof email !== 'string' || email === '' || typeof until !== 'number' || !(until > now))
    return undefined;
  return { email, until, next: safeNext(typeof next === 'string' ? next : null, origin) };
}
