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
