// What an answer must look like to be used. Only the members that clients use are checked, so that services of other
// versions stay usable.

import { LatchkeyError } from './errors.ts';
import type { OperationId } from './operations.ts';

export type Check = (value: unknown) => boolean;

export const isText = (value: unknown): value is string => typeof value === 'string';
export const isNumber = (value: unknown): value is number => Number.isFinite(value);
export const isBoolean: Check = (value) => typeof value === 'boolean';

const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || value === null || check(value);

export const listOf =
  (isItem: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(isItem);

export const objectWith = (members: Readonly<Record<string, Check>>): Check => {
  const checks = Object.entries(members);
  return (value) =>
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    checks.every(([name, check]) => check((value as Record<string, unknown>)[name]));
};

/** No access token lives this long, and any date computed from it is still valid. */
const maxLifetimeSeconds = 2 ** 31;
export const isLifetime: Check = (value) => isNumber(value) && value >= 0 && value <= maxLifetimeSeconds;

/** Several times the longest token of the service: a stored one must leave room for other logins. */
const maxTokenLength = 1_024;
/** Text that a header can carry, and no longer than a token. @see RFC 6749 appendix A */
export const isToken = (value: unknown): value is string =>
  isText(value) && value.length <= maxTokenLength && /^[\x21-\x7e]+$/.test(value);

export const isIssuedToken = objectWith({ access_token: isToken, expires_in: isLifetime });
export const isTokenSet = objectWith({
  access_token: isToken,
  refresh_token: isToken,
  expires_in: isLifetime,
});

const maxUserCodeLength = 64;
/** The longest lifetime that a service can set. Beyond it, a login that nobody approves would not end. */
const maxDeviceCodeSeconds = 86_400;
const isDeviceSeconds = (value: unknown): value is number =>
  isNumber(value) && value >= 0 && value <= maxDeviceCodeSeconds;

const pageOf = (name: string, isEntry: Check) =>
  objectWith({ [name]: listOf(isEntry), next_cursor: optional(isText) });

/** An object with these texts, of which the second ones may be missing, and other members. */
const textsIn = (
  required: readonly string[],
  others: readonly string[] = [],
  members: Readonly<Record<string, Check>> = {},
): Check =>
  objectWith({
    ...Object.fromEntries(required.map((name) => [name, isText])),
    ...Object.fromEntries(others.map((name) => [name, optional(isText)])),
    ...members,
  });

const isProfile = textsIn(['id'], ['email', 'name', 'avatar_url', 'locale', 'time_zone', 'created_at']);
const isSession = textsIn(
  ['id', 'kind', 'method', 'created_at', 'last_used_at'],
  ['client_name', 'device_name', 'ip_address', 'scope'],
  { within: optional(listOf(isText)) },
);
const isOrganization = textsIn(['slug', 'name', 'role', 'joined_at']);
const isPasskey = textsIn(['id', 'name', 'created_at'], ['credential_id', 'last_used_at']);
const isKey = textsIn(['id', 'name', 'scope', 'expires_at'], ['resource', 'last_used_at'], {
  trust: optional(textsIn(['issuer'])),
});
const isUser = textsIn(['id']);
const hasChallenge = textsIn(['challenge']);

/** The answers of the operations that this package and the command line use. */
export const answers: { readonly [Id in OperationId]?: Check } = {
  startDeviceAuthorization: objectWith({
    device_code: isToken,
    user_code: (code) => isToken(code) && code.length <= maxUserCodeLength,
    expires_in: (seconds) => isDeviceSeconds(seconds) && seconds > 0,
    interval: optional(isDeviceSeconds),
  }),
  issueToken: isTokenSet,
  refresh: isTokenSet,
  getProfile: isProfile,
  updateProfile: isProfile,
  listSessions: pageOf('sessions', isSession),
  listOrganizations: pageOf('organizations', isOrganization),
  listPasskeys: objectWith({ passkeys: listOf(isPasskey) }),
  listKeys: pageOf('keys', isKey),
  createKey: textsIn(['id'], ['key']),
  startPasskeyRegistration: hasChallenge,
  registerPasskey: isPasskey,
  startPasskeyLogin: hasChallenge,
  getUser: isUser,
  lookupUser: isUser,
  listUsers: pageOf('users', isUser),
  listUserSessions: pageOf('sessions', objectWith({})),
  listUserEvents: pageOf('events', objectWith({})),
  listUserEmails: pageOf('emails', objectWith({})),
};

/** @throws {LatchkeyError} `not_latchkey`, with this message, for a missing or mistyped member */
export function checkedAnswer<T>(answer: unknown, check: Check, message: string): T {
  if (check(answer)) return answer as T;
  throw new LatchkeyError('not_latchkey', message);
}
