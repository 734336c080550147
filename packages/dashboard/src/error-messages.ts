import type { Problem } from './api.ts';
import { clock, count, dateTime, duration } from './format.ts';
import { productName } from './product.ts';

/** What to tell the person, by error code. A page overrides the common messages where it can say something better. */
export type ErrorMessages = Partial<Record<Problem['code'], string>>;

const common: ErrorMessages = {
  unreachable: `Couldn't reach ${productName}. Check your connection and try again. What you entered is still here.`,
  temporarily_unavailable: `${productName} isn't available right now.`,
  rate_limited: 'Too many attempts.',
  invalid_token: "You're signed out. Sign in again to continue.",
  insufficient_user_authentication: 'Nothing was changed. Confirm your identity to make this change.',
  somebody_else:
    'Nothing was changed, because this browser is now signed in to a different account. Reload the page to continue.',
  precondition_failed:
    'Nothing was changed, because this browser was briefly signed in to a different account. Try again.',
  account_disabled: 'This account has been disabled. Contact the administrator to have it enabled again.',
  signup_disabled: "There's no account for this email, and new accounts can't be created here.",
  origin_not_allowed: `This page was opened at a URL that ${productName} doesn't accept. Open it at its own URL.`,
  cookies_off:
    'Your browser is blocking cookies, which are needed to sign in. Allow cookies for this site, then reload the page.',
  passkeys_unsupported: "This browser doesn't support passkeys.",
  no_authenticator:
    'This device has no screen lock, fingerprint, or face recognition set up for passkeys. Try a phone, a security key, or a password manager.',
  passkey_cancelled: 'The request was cancelled or timed out. Nothing was changed. You can try again.',
  passkey_aborted: 'The request was cancelled. Nothing was changed. You can try again.',
  passkey_failed: "Your browser couldn't use a passkey here. Try again, or use another browser.",
  passkey_already_there: 'This device already has a passkey for this account. You can sign in with it.',
};

/** For pages where nothing was typed. */
export const unreachable = `Couldn't reach ${productName}. Check your connection and try again.`;

/** For requests that send an email. */
export const emailErrors = {
  rate_limited: "Too many emails requested, so we can't send another one yet. Earlier emails still work.",
  invalid_request: "That doesn't look like an email address. Use the format ada@example.com.",
} satisfies ErrorMessages;

/** For entering the code from an email. */
export const emailCodeErrors = {
  invalid_request: "That isn't a valid code. Codes are eight letters, like BCDF-GHJK.",
  invalid_grant:
    "That code didn't work. Check that it's from the latest email. If it is, it may have expired: send a new email.",
} satisfies ErrorMessages;

/** For signing in with a passkey where email is the alternative. */
export const passkeySignInErrors = {
  passkeys_unsupported: "This browser doesn't support passkeys. Use email instead.",
  no_authenticator:
    "There's no passkey you can use here on this device. Use your phone or a security key, or use email instead.",
  passkey_cancelled: 'The passkey request was cancelled or timed out. Try again, or use email instead.',
  invalid_grant: "That passkey didn't work. Try again, or use email instead.",
  unknown_credential: 'That passkey is no longer registered. Use another one, or use email instead.',
} satisfies ErrorMessages;

/** A message for the person: what went wrong and, if the service said so, when to try again. */
export function explain(problem: Problem, messages: ErrorMessages = {}, now: Date = new Date()): string {
  const message =
    messages[problem.code] ??
    common[problem.code] ??
    'Something went wrong on our side. Try again in a moment.';
  const { retryAfterSeconds } = problem;
  return retryAfterSeconds === undefined ? message : `${message} ${tryAgain(retryAfterSeconds, now)}`;
}

function tryAgain(seconds: number, now: Date): string {
  const at = new Date(now.getTime() + seconds * 1000);
  if (seconds < 60) return `Try again in ${count(Math.max(1, seconds), 'second')}.`;
  if (seconds < 24 * 3600) return `Try again in ${duration(seconds)}, at ${clock(at)}.`;
  return `Try again after ${dateTime(at)}.`;
}
