import { createApi } from '@latchkey/client/api';
import { LatchkeyError, type LatchkeyErrorCode } from '@latchkey/client/errors';
import type { Answer, Body } from '@latchkey/client/operations';
import type { Profile } from '@latchkey/contract/account';
import type { Event } from '@latchkey/contract/events';
import { fieldLimits } from '@latchkey/contract/field-limits';
import type { Session } from '@latchkey/contract/sessions';
import { isDifferentUser, shownUser } from './shown-user.ts';

/** The service that this page comes from. It answers nothing about anybody but the one whom the page shows. */
export const api = createApi({ server: location.origin, userId: () => shownUser()?.id });
const apiForAnybody = createApi({ server: location.origin });
/** Sends no cookie: whoever is signed in here does not count. */
const apiWithoutCookie = createApi({ server: location.origin, credentials: 'omit' });

/**
 * Why something did not succeed. With `unreachable` no answer that can be understood came back, and it is unknown
 * whether the call took effect.
 */
export interface Problem {
  /**
   * `somebody_else`: nothing was done, because another user than the page shows is signed in by now. `cookies_off`:
   * nothing was done, because this browser would forget the login at once.
   */
  readonly code: LatchkeyErrorCode | 'somebody_else' | 'cookies_off';
  /** For developers; with `invalid_request` it begins with the name of the field. */
  readonly message?: string;
  /** From `Retry-After`: with 429 and 503. */
  readonly retryAfterSeconds?: number | undefined;
}

export type Result<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: Problem };

/**
 * What comes of it, for pages that go on after either. Where the service refused it because somebody else is signed
 * in by now, `somebodyElse` says who.
 */
export async function outcomeOf<T>(work: Promise<T>): Promise<Result<T>> {
  const result = await settled(work);
  if (result.ok || result.problem.code !== 'precondition_failed') return result;
  const me = await whoIsSignedIn();
  if (!me.ok) return me;
  // Then it was refused for the state of the profile.
  if (me.value.id === shownUser()?.id) return result;
  isDifferentUser.value = me.value.email;
  return { ok: false, problem: { code: 'somebody_else' } };
}

/** The profile of whoever is signed in in this browser by now, whomever the page shows. */
export const whoIsSignedIn = (): Promise<Result<Profile>> => settled(apiForAnybody.call('getProfile'));

async function settled<T>(work: Promise<T>): Promise<Result<T>> {
  try {
    return { ok: true, value: await work };
  } catch (error) {
    if (!(error instanceof LatchkeyError)) throw error;
    const isLost = error.code === 'timeout' || error.code === 'not_latchkey';
    return { ok: false, problem: isLost ? { code: 'unreachable' } : error };
  }
}

/** The credential arrives in a cookie that no script can read. */
export const byCookie = { session: 'cookie' } as const;

/** What comes of a step of signing in, which is not taken where it would spend a link or a code for nothing. */
export const signingIn = async <T>(work: () => Promise<T>): Promise<Result<T>> =>
  navigator.cookieEnabled ? outcomeOf(work()) : { ok: false, problem: { code: 'cookies_off' } };

/** Ask for a mail with a link and a code. The `request` that comes back must not leave this tab. */
export const requestMagicLink = (email: string) =>
  signingIn(() => api.call('requestMagicLink', { body: { email } }));

/** Sign in. */
export const verifyMagicLink = (proof: Body<'verifyMagicLink'>) =>
  signingIn(() => api.call('verifyMagicLink', { query: byCookie, body: proof }));

/** See who asks for a device login. Changes nothing. */
export const verifyDevice = (userCode: string) =>
  outcomeOf(api.call('verifyDevice', { body: { user_code: userCode } }));

/** Approve or deny the device login, once. */
export const decideDevice = (decision: 'approve' | 'deny', userCode: string) =>
  outcomeOf(
    api.call(decision === 'approve' ? 'approveDevice' : 'denyDevice', { body: { user_code: userCode } }),
  );

/** The user's passkeys, newest first. */
export const listPasskeys = () => outcomeOf(api.call('listPasskeys'));

/** Give a passkey another name. */
export const renamePasskey = (id: string, name: string) =>
  outcomeOf(api.call('renamePasskey', { params: { id }, body: { name } }));

/** Remove a passkey. Needs a recent login. */
export const removePasskey = (id: string) => outcomeOf(api.call('removePasskey', { params: { id } }));

/** The profile of the user. */
export const getProfile = () => outcomeOf(api.call('getProfile'));

/** The profile with the tag of this state of it. */
export const getTaggedProfile = () => outcomeOf(api.callWithHeaders('getProfile').then(tagged));

/** Change the profile unless it has been changed since the state with this tag: then `precondition_failed`. */
export const updateProfile = (body: Body<'updateProfile'>, tag: string) =>
  outcomeOf(api.callWithHeaders('updateProfile', { body, headers: { 'If-Match': tag } }).then(tagged));

const tagged = ({ body, headers }: { body: Profile; headers: Headers }) => ({
  profile: body,
  tag: headers.get('ETag') ?? '*',
});

/** Send a link to a new address. Needs a recent login. */
export const requestEmailChange = (email: string) =>
  outcomeOf(api.call('requestEmailChange', { body: { email } }));

/** See what the link to a new address would change, in a session of its account. Changes nothing. */
export const previewEmailChange = (token: string) =>
  outcomeOf(api.call('previewEmailChange', { body: { token } }));

/** Change the address, once, by the token of the link. Needs a session of the account, or its current address. */
export const verifyEmailChange = (token: string, currentEmail?: string) =>
  outcomeOf(
    currentEmail === undefined
      ? api.call('verifyEmailChange', { body: { token } })
      : apiWithoutCookie.call('verifyEmailChange', { body: { token, current_email: currentEmail } }),
  );

/** End the login that a notice tells of. Needs no login. */
export const disownNotice = (token: string) => outcomeOf(api.call('disownNotice', { body: { token } }));

/** End the browser login that approved the device, too. Needs no login. */
export const disownApprover = (token: string) =>
  outcomeOf(api.call('disownNotice', { body: { token, approver: true } }));

/** Delete the account for good. Needs a recent login. */
export const deleteAccount = () => outcomeOf(api.call('deleteAccount'));

const page = (size: number, cursor: string | undefined) => ({
  query: { limit: String(size), ...(cursor === undefined ? {} : { cursor }) },
});

/** The organizations of the user, a page of them. */
export const listOrganizations = (cursor?: string) =>
  outcomeOf(api.call('listOrganizations', page(fieldLimits.defaultPageSize, cursor)));

const eventPageSize = 10;

/** The user's security log, newest first, a page of it. */
export const listEvents = (cursor?: string) => outcomeOf(api.call('listEvents', page(eventPageSize, cursor)));

const maxEventPages = 10;

/** The user's security log since a moment (milliseconds since 1970) and a little more, newest first. */
export const listEventsSince = (since: number) => outcomeOf(eventsSince(since));

interface EventsSince {
  readonly events: readonly Event[];
  /** More than 500 entries are not fetched: the oldest ones are then missing. */
  readonly isWhole: boolean;
}

async function eventsSince(since: number): Promise<EventsSince> {
  const events: Event[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < maxEventPages; pages++) {
    const answer: Answer<'listEvents'> = await api.call(
      'listEvents',
      page(fieldLimits.defaultPageSize, cursor),
    );
    events.push(...answer.events);
    const oldest = answer.events.at(-1);
    if (answer.next_cursor === null || oldest === undefined || Date.parse(oldest.created_at) < since)
      return { events, isWhole: true };
    cursor = answer.next_cursor;
  }
  return { events, isWhole: false };
}

const sessionPageSize = 100;
const maxSessionPages = 10;

/** The user's logins, newest first, at most a thousand of them. */
export const listSessions = () => outcomeOf(allSessions());

async function allSessions(): Promise<Session[]> {
  const sessions: Session[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < maxSessionPages; pages++) {
    const answer: Answer<'listSessions'> = await api.call('listSessions', page(sessionPageSize, cursor));
    sessions.push(...answer.sessions);
    if (answer.next_cursor === null) break;
    cursor = answer.next_cursor;
  }
  return sessions;
}

/** End one login of the user. */
export const revokeSession = (id: string) => outcomeOf(api.call('revokeSession', { params: { id } }));

/** End this login, or every login of the user. */
export const logout = (scope: 'session' | 'everywhere') =>
  outcomeOf(api.call('logout', scope === 'session' ? { query: { scope } } : {}));
