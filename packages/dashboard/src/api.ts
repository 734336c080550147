import { type CallInput, createApi } from '@latchkey/client/api';
import { LatchkeyError, type LatchkeyErrorCode } from '@latchkey/client/errors';
import { allPages } from '@latchkey/client/internal/pages';
import { allSessions } from '@latchkey/client/internal/session-list';
import type { Answer, Body, OperationId } from '@latchkey/client/operations';
import type { Profile, ProfileView } from '@latchkey/contract/account';
import type { Event } from '@latchkey/contract/events';
import { otherUserEmail, pageUser } from './page-user.ts';

/** Client for the service that serves this page. Requests fail unless the signed-in user is the one the page shows. */
export const api = createApi({ server: location.origin, userId: () => pageUser()?.id });
const apiForAnyUser = createApi({ server: location.origin });
/** Why a request failed. With `unreachable`, no usable response arrived and the request may have taken effect. */
export interface Problem {
  /**
   * `somebody_else`: nothing was done, because a user other than the page's is now signed in. `cookies_off`: nothing
   * was done, because the browser would discard the session cookie.
   */
  readonly code: LatchkeyErrorCode | 'somebody_else' | 'cookies_off';
  /** For developers. With `invalid_request` it starts with the name of the field. */
  readonly message?: string;
  /** From `Retry-After`, with 429 and 503. */
  readonly retryAfterSeconds?: number | undefined;
  /** The error object of the service. */
  readonly body?: Readonly<Record<string, unknown>>;
}

export type Result<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: Problem };

/** Turns a rejection into a `Result`. Sets `otherUserEmail` if another user is now signed in. */
export async function resultOf<T>(work: Promise<T>): Promise<Result<T>> {
  const result = await settled(work);
  if (result.ok || result.problem.code !== 'precondition_failed') return result;
  const me = await getSignedInUser();
  if (!me.ok) return me;
  // The same user: the profile changed since it was read.
  if (me.value.id === pageUser()?.id) return result;
  otherUserEmail.value = me.value.email;
  return { ok: false, problem: { code: 'somebody_else' } };
}

/** Calls an operation for the user that the page shows. */
export const call = <Id extends OperationId>(id: Id, input?: CallInput<Id>): Promise<Result<Answer<Id>>> =>
  resultOf(api.call(id, input));

/** The profile of the user signed in to this browser, regardless of which user the page shows. */
export const getSignedInUser = (): Promise<Result<Profile>> =>
  settled(apiForAnyUser.call('getProfile').then(wholeProfile));

/** The session of a browser may read the whole profile. */
const wholeProfile = (view: ProfileView): Profile => view as Profile;

async function settled<T>(work: Promise<T>): Promise<Result<T>> {
  try {
    return { ok: true, value: await work };
  } catch (error) {
    if (!(error instanceof LatchkeyError)) throw error;
    const isLost = error.code === 'timeout' || error.code === 'not_latchkey';
    return { ok: false, problem: isLost ? { code: 'unreachable' } : error };
  }
}

/** Asks for the session as an HttpOnly cookie, which scripts can't read. */
export const byCookie = { session: 'cookie' } as const;

/** Runs a sign-in step unless cookies are disabled, when it would spend a link or code for nothing. */
export const requiringCookies = async <T>(work: () => Promise<T>): Promise<Result<T>> =>
  navigator.cookieEnabled ? resultOf(work()) : { ok: false, problem: { code: 'cookies_off' } };

/** Requests an email with a link and a code. The returned `request` must not leave this tab. */
export const requestMagicLink = (email: string) =>
  requiringCookies(() => api.call('requestMagicLink', { body: { email } }));

/** Signs in with the link, or with the code and its request. */
export const verifyMagicLink = (proof: Body<'verifyMagicLink'>) =>
  requiringCookies(() => api.call('verifyMagicLink', { query: byCookie, body: proof }));

export const getProfile = () => resultOf(api.call('getProfile').then(wholeProfile));

/** The security log back to `since` (ms since 1970), newest first; incomplete if there are too many. */
export const listEventsSince = (since: number) => resultOf(eventsSince(since));

async function eventsSince(since: number) {
  const isBefore = ({ created_at }: Event) => Date.parse(created_at) < since;
  const { entries: events, next_cursor } = await allPages(
    'events',
    (query) => api.call('listEvents', { query }),
    isBefore,
  );
  return { events, isComplete: next_cursor === null || events.slice(-1).some(isBefore) };
}

/** Lists all logins of the user, then the newest runs, which are not complete if there is a cursor. */
export const listSessions = () => resultOf(allSessions((query) => api.call('listSessions', { query })));
