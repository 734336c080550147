import { safeNext } from './next.ts';

/**
 * What this browser remembers of having asked for a mail: no secret, only enough for the page behind the link to
 * know that it opened where it was asked for, and where to go on.
 */
interface Asked {
  readonly email: string;
  /** Milliseconds since 1970. */
  readonly until: number;
  readonly next: string;
}

export const askedKey = 'latchkey.asked';

/** Storage may be switched off; the pages then work as in a browser that never asked. */
export function rememberAsked(asked: Asked): void {
  try {
    localStorage.setItem(askedKey, JSON.stringify(asked));
  } catch {}
}

export function forgetAsked(): void {
  try {
    localStorage.removeItem(askedKey);
    sessionStorage.removeItem(waitingKey);
  } catch {}
}

/** The marker, unless its mail has expired by `now` or it cannot be understood. */
export function recallAsked(now: number): Asked | undefined {
  try {
    return parseAsked(localStorage.getItem(askedKey), location.origin, now);
  } catch {
    return undefined;
  }
}

/**
 * A mail that this tab asked for, and `request`, with which its code is good. It is kept in this tab alone, so that
 * the code can still be typed after a reload.
 */
export interface Waiting extends Asked {
  readonly request: string;
}

const waitingKey = 'latchkey.waiting';

/** Storage may be switched off; the code can then be typed until the page is reloaded. */
export function rememberWaiting(waiting: Waiting): void {
  const { request: _, ...asked } = waiting;
  rememberAsked(asked);
  try {
    sessionStorage.setItem(waitingKey, JSON.stringify(waiting));
  } catch {}
}

/** The person wants another mail instead. */
export function forgetWaiting(): void {
  try {
    sessionStorage.removeItem(waitingKey);
  } catch {}
}

/** What this tab waits for, unless it has expired by `now`, or somebody has signed in since then in this browser. */
export function recallWaiting(now: number): Waiting | undefined {
  try {
    const waiting = parseWaiting(sessionStorage.getItem(waitingKey), location.origin, now);
    if (waiting !== undefined && recallAsked(now) !== undefined) return waiting;
  } catch {}
  forgetWaiting();
  return undefined;
}

/** @see recallWaiting */
export function parseWaiting(stored: string | null, origin: string, now: number): Waiting | undefined {
  const asked = parseAsked(stored, origin, now);
  if (stored === null || asked === undefined) return undefined;
  const { request } = JSON.parse(stored) as { request?: unknown };
  return typeof request === 'string' && request !== '' ? { ...asked, request } : undefined;
}

/** @see recallAsked */
export function parseAsked(stored: string | null, origin: string, now: number): Asked | undefined {
  if (stored === null) return undefined;
  const marker: unknown = JSON.parse(stored);
  if (typeof marker !== 'object' || marker === null) return undefined;
  const { email, until, next } = marker as Partial<Record<keyof Asked, unknown>>;
  if (typeof email !== 'string' || email === '' || typeof until !== 'number' || !(until > now))
    return undefined;
  return { email, until, next: safeNext(typeof next === 'string' ? next : null, origin) };
}
