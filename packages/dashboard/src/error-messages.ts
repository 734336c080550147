import type { Problem } from './api.ts';
import { clock, dateTime, duration, inUnits } from './format.ts';
import { fill, sentences, texts } from './texts.ts';

const { errors } = texts;

/** What to tell the person, by error code. A page overrides the common messages where it can say something better. */
export type ErrorMessages = Partial<Record<Problem['code'], string>>;

const common: ErrorMessages = {
  unreachable: fill(errors.unreachable),
  temporarily_unavailable: fill(errors.unavailable),
  rate_limited: errors.tooMany,
  invalid_token: errors.signedOut,
  insufficient_user_authentication: errors.notConfirmed,
  somebody_else: errors.somebodyElse,
  precondition_failed: errors.somebodyElse,
  account_disabled: errors.disabled,
  signup_disabled: errors.noSignUp,
  origin_not_allowed: fill(errors.wrongUrl),
  cookies_off: errors.cookiesOff,
  passkeys_unsupported: errors.passkeys.unsupported,
  no_authenticator: errors.passkeys.noAuthenticator,
  passkey_cancelled: errors.passkeys.cancelled,
  passkey_aborted: errors.passkeys.cancelled,
  passkey_failed: errors.passkeys.failed,
  passkey_already_there: errors.passkeys.alreadyThere,
};

/** For requests that send an email. */
export const emailErrors = {
  rate_limited: errors.tooManyEmails,
  invalid_request: errors.notAnAddress,
} satisfies ErrorMessages;

/** For signing in with a passkey where email is the alternative. */
export const passkeySignInErrors = {
  no_authenticator: errors.passkeySignIn.noAuthenticator,
  invalid_grant: errors.passkeySignIn.refused,
  unknown_credential: errors.passkeySignIn.unknown,
} satisfies ErrorMessages;

/** A message for the person: what went wrong and, if the service said so, when to try again. */
export function explain(problem: Problem, messages: ErrorMessages = {}, now: Date = new Date()): string {
  const message = messages[problem.code] ?? common[problem.code] ?? errors.unexpected;
  const { retryAfterSeconds } = problem;
  return retryAfterSeconds === undefined ? message : sentences(message, tryAgain(retryAfterSeconds, now));
}

function tryAgain(seconds: number, now: Date): string {
  const at = new Date(now.getTime() + seconds * 1000);
  if (seconds < 60) return fill(errors.tryAgainIn, { duration: inUnits(Math.max(1, seconds), 'second') });
  if (seconds < 24 * 3600) return fill(errors.tryAgainAt, { duration: duration(seconds), time: clock(at) });
  return fill(errors.tryAgainAfter, { time: dateTime(at) });
}
