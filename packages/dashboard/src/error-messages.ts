import type { Problem } from './api.ts';

/** What one page says differently about a code. */
export type ErrorMessages = Partial<Record<Problem['code'], string>>;

const common: ErrorMessages = {
  unreachable:
    'Latchkey could not be reached. Check your connection and try again; what you typed is still here.',
  temporarily_unavailable: 'Latchkey is not available right now.',
  rate_limited: 'Too many tries.',
  invalid_token: 'You are signed out. Sign in again to go on.',
  insufficient_user_authentication:
    'Nothing was changed: this is only done once you have confirmed that it is you.',
  somebody_else:
    'That was not done: this browser is signed in as somebody else now. Load the page again to go on.',
  precondition_failed:
    'That was not done: for a moment this browser was signed in as somebody else. Try again.',
  account_disabled: 'This account has been disabled. Ask whoever runs this service to enable it again.',
  signup_disabled: 'There is no account for this address, and this service does not take new ones.',
  origin_not_allowed:
    'This page was opened from an address that the service does not allow. Open it at its own address.',
  cookies_off:
    'This browser keeps no cookies of this page, and a login needs one. Allow them for Latchkey in its settings, then load the page again.',
  passkeys_unsupported: 'This browser cannot use passkeys.',
  no_authenticator:
    'This device has no screen lock, fingerprint or face recognition that is set up for passkeys. Try a phone, a security key or a password manager.',
  passkey_cancelled: 'That was cancelled, or took too long. Nothing has changed; you can try again.',
  passkey_aborted: 'That was cancelled. Nothing has changed; you can try again.',
  passkey_failed: 'The browser could not use a passkey here. Try again, or use another browser.',
  passkey_already_there:
    'There is a passkey for this account on this device already. You can sign in with it.',
};

/** What is different where a mail was asked for. */
export const emailErrors = {
  rate_limited: 'Too many mails were asked for, so no more are sent for now. Those that came still work.',
} satisfies ErrorMessages;

/** A sentence for a person about what went wrong, and when to try again if the server said so. */
export function explain(problem: Problem, words: ErrorMessages = {}, now: Date = new Date()): string {
  const sentence =
    words[problem.code] ?? common[problem.code] ?? 'Something went wrong on our side. Try again in a moment.';
  const { retryAfterSeconds } = problem;
  return retryAfterSeconds === undefined ? sentence : `${sentence} ${tryAgain(retryAfterSeconds, now)}`;
}

function tryAgain(seconds: number, now: Date): string {
  const at = new Date(now.getTime() + seconds * 1000);
  if (seconds < 60) return `Try again in ${count(Math.max(1, seconds), 'second')}.`;
  if (seconds < 24 * 3600) return `Try again in ${duration(seconds)}, at ${clock(at)}.`;
  return `Try again after ${dateTime(at)}.`;
}

const count = (number: number, unit: string) => `${number} ${unit}${number === 1 ? '' : 's'}`;

/** Whole minutes, rounded up, or hours when there are many. */
export function duration(seconds: number): string {
  const minutes = Math.ceil(seconds / 60);
  return minutes < 120 ? count(minutes, 'minute') : count(Math.ceil(minutes / 60), 'hour');
}

/** The time of day, as the reader writes it. */
export const clock = (time: Date) => new Intl.DateTimeFormat(undefined, { timeStyle: 'short' }).format(time);

/** Day and time, as the reader writes them. */
export const dateTime = (time: Date) =>
  new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' }).format(time);
