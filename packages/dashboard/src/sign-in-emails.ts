import { safeNext } from './next.ts';
import { noteIn, tabNote } from './tab-note.ts';

/** A sign-in requested in this browser. */
interface RequestedSignIn {
  readonly email: string;
  /** When its email expires, in milliseconds since 1970. */
  readonly until: number;
  readonly next: string;
}

/** What all tabs know of it. By this the page of the link knows this browser, and where to go. No secret. */
interface SentEmail extends RequestedSignIn {
  readonly link: string;
}

/** The sign-in this tab waits for. Its code only works with `request`, kept in this tab for a reload. */
interface PendingSignIn extends RequestedSignIn {
  readonly request: string;
}

/** The id of a link, which is the same in its token and in the `request` of its email, after the kind and the key of either. */
export const linkIdOf = (handle: string): string => handle.slice(14, 35);

/** The latest ones, since each may lead to another page. */
const maxSentEmails = 8;

const sentEmailsKey = 'latchkey.asked';
const sentEmails = noteIn(() => localStorage, sentEmailsKey);
const pendingSignIn = tabNote('waiting');

export function rememberSentEmail({ request, ...sent }: PendingSignIn): void {
  const earlier = parseSignIns(sentEmails.read(), location.origin, Date.now());
  const all = [{ ...sent, link: linkIdOf(request) }, ...earlier];
  sentEmails.leave(JSON.stringify(all.slice(0, maxSentEmails)));
}

/** Calls back when the page behind the emailed link, in another tab, has signed this browser in: it forgets the emails. */
export const onLinkUsed = (then: () => void): void =>
  window.addEventListener('storage', ({ key, newValue }) => {
    if (key === sentEmailsKey && newValue === null) then();
  });

/** Forgets the emails, and with them the sign-in that this tab is waiting for. */
export function forgetSentEmails(): void {
  sentEmails.remove();
  forgetPendingSignIn();
}

/** The last email requested in this browser, or the one with this link, unless it has expired by `now` or is malformed. */
export const recallSentEmail = (now: number, link?: string): SentEmail | undefined =>
  parseSignIns(sentEmails.read(), location.origin, now).find(
    (one) => link === undefined || one.link === link,
  );

/** With storage disabled, the code can be entered until the page is reloaded. */
export function rememberPendingSignIn(pending: PendingSignIn): void {
  rememberSentEmail(pending);
  pendingSignIn.leave(JSON.stringify([pending]));
}

/** Stops waiting, because the person wants to use another address. The emailed link still works. */
export const forgetPendingSignIn = () => pendingSignIn.remove();

/** The sign-in this tab is waiting for, unless it has expired by `now` or has been completed in this browser. */
export function recallPendingSignIn(now: number): PendingSignIn | undefined {
  const [pending] = parseSignIns(pendingSignIn.read(), location.origin, now);
  if (pending?.request && recallSentEmail(now)) return pending;
  forgetPendingSignIn();
  return undefined;
}

/** What is stored, without what has expired. `request` and `link` are empty where they are missing. */
export function parseSignIns(
  stored: string | null,
  origin: string,
  now: number,
): (PendingSignIn & SentEmail)[] {
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  try {
    const all = JSON.parse(stored ?? '') as Record<keyof (PendingSignIn & SentEmail), unknown>[];
    return all.flatMap(({ email, until, next, request, link }) => {
      if (typeof email !== 'string' || email === '' || typeof until !== 'number' || !(until > now)) return [];
      const path = safeNext(text(next), origin);
      return [{ email, until, next: path, request: text(request), link: text(link) }];
    });
  } catch {
    return [];
  }
}
