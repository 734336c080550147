import { safeNext } from './next.ts';

/**
 * What this browser remembers of having asked for a mail: no secret, only enough for the page behind the link to
 * know that it opened where it was asked for, and where to go on.
 */
interface SentEmail {
  readonly email: string;
  /** Milliseconds since 1970. */
  readonly until: number;
  readonly next: string;
}

export const sentEmailKey = 'latchkey.asked';

/** Storage may be switched off; the pages then work as in a browser that never asked. */
export function rememberSentEmail(asked: SentEmail): void {
  try {
    localStorage.setItem(sentEmailKey, JSON.stringify(asked));
  } catch {}
}

export function forgetSentEmail(): void {
  try {
    localStorage.removeItem(sentEmailKey);
    sessionStorage.removeItem(pendingSignInKey);
  } catch {}
}

/** The marker, unless its mail has expired by `now` or it cannot be understood. */
export function recallSentEmail(now: number): SentEmail | undefined {
  try {
    return parseSentEmail(localStorage.getItem(sentEmailKey), location.origin, now);
  } catch {
    return undefined;
  }
}

/**
 * A mail that this tab asked for, and `request`, with which its code is good. It is kept in this tab alone, so that
 * the code can still be typed after a reload.
 */
export interface PendingSignIn extends SentEmail {
  readonly request: string;
}

const pendingSignInKey = 'latchkey.waiting';

/** Storage may be switched off; the code can then be typed until the page is reloaded. */
export function rememberPendingSignIn(waiting: PendingSignIn): void {
  const { request: _, ...asked } = waiting;
  rememberSentEmail(asked);
  try {
    sessionStorage.setItem(pendingSignInKey, JSON.stringify(waiting));
  } catch {}
}

/** The person wants another mail instead. */
export function forgetPendingSignIn(): void {
  try {
    sessionStorage.removeItem(pendingSignInKey);
  } catch {}
}

/** What this tab waits for, unless it has expired by `now`, or somebody has signed in since then in this browser. */
export function recallPendingSignIn(now: number): PendingSignIn | undefined {
  try {
    const waiting = parsePendingSignIn(sessionStorage.getItem(pendingSignInKey), location.origin, now);
    if (waiting !== undefined && recallSentEmail(now) !== undefined) return waiting;
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
  const asked = parseSentEmail(stored, origin, now);
  if (stored === null || asked === undefined) return undefined;
  const { request } = JSON.parse(stored) as { request?: unknown };
  return typeof request === 'string' && request !== '' ? { ...asked, request } : undefined;
}

/** @see recallSentEmail */
export function parseSentEmail(stored: string | null, origin: string, now: number): SentEmail | undefined {
  if (stored === null) return undefined;
  const marker: unknown = JSON.parse(stored);
  if (typeof marker !== 'object' || marker === null) return undefined;
  const { email, until, next } = marker as Partial<Record<keyof SentEmail, unknown>>;
  if (typeof email !== 'string' || email === '' || typeof until !== 'number' || !(until > now))
    return undefined;
  return { email, until, next: safeNext(typeof next === 'string' ? next : null, origin) };
}
