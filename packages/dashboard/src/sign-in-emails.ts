import { safeNext } from './next.ts';
import { noteIn, tabNote } from './tab-note.ts';

/** A sign-in email requested here. By it the link's page knows this browser, and where to go. No secret. */
interface SentEmail {
  readonly email: string;
  /** When the email expires, in milliseconds since 1970. */
  readonly until: number;
  readonly next: string;
}

/** The sign-in this tab waits for. Its code only works with `request`, kept in this tab for a reload. */
interface PendingSignIn extends SentEmail {
  readonly request: string;
}

const sentEmailKey = 'latchkey.asked';
const sentEmail = noteIn(() => localStorage, sentEmailKey);
const pendingSignIn = tabNote('waiting');

export const rememberSentEmail = (sent: SentEmail) => sentEmail.leave(JSON.stringify(sent));

/** Calls back when the page behind the emailed link, in another tab, has signed this browser in: it forgets the email. */
export const onLinkUsed = (then: () => void): void =>
  window.addEventListener('storage', ({ key, newValue }) => {
    if (key === sentEmailKey && newValue === null) then();
  });

/** Forgets the email, and with it the sign-in that this tab is waiting for. */
export function forgetSentEmail(): void {
  sentEmail.remove();
  forgetPendingSignIn();
}

/** The last email requested in this browser, unless it has expired by `now` or is malformed. */
export const recallSentEmail = (now: number): SentEmail | undefined =>
  parseSignIn(sentEmail.read(), location.origin, now);

/** With storage disabled, the code can be entered until the page is reloaded. */
export function rememberPendingSignIn(pending: PendingSignIn): void {
  const { request: _, ...sent } = pending;
  rememberSentEmail(sent);
  pendingSignIn.leave(JSON.stringify(pending));
}

/** Stops waiting, because the person wants to use another address. The emailed link still works. */
export const forgetPendingSignIn = () => pendingSignIn.remove();

/** The sign-in this tab is waiting for, unless it has expired by `now` or has been completed in this browser. */
export function recallPendingSignIn(now: number): PendingSignIn | undefined {
  const pending = parseSignIn(pendingSignIn.read(), location.origin, now);
  if (pending?.request && recallSentEmail(now)) return pending;
  forgetPendingSignIn();
  return undefined;
}

/** What is stored, with an empty `request` if it has none. Undefined if it has expired or is malformed. */
export function parseSignIn(stored: string | null, origin: string, now: number): PendingSignIn | undefined {
  try {
    const { email, until, next, request } = JSON.parse(stored ?? '') as Record<keyof PendingSignIn, unknown>;
    if (typeof email !== 'string' || email === '' || typeof until !== 'number' || !(until > now))
      return undefined;
    const path = safeNext(typeof next === 'string' ? next : null, origin);
    return { email, until, next: path, request: typeof request === 'string' ? request : '' };
  } catch {
    return undefined;
  }
}
