import { type AnswerWithHeaders, type Api, type CallInput, requireEncrypted } from './api.ts';
import { aborted, type Clock, systemClock, unlessAborted } from './clock.ts';
import type { CredentialStore, StoredLogin } from './credentials.ts';
import { hasCode } from './errors.ts';
import type { Answer, OperationId } from './operations.ts';
import { type Effort, earlyEffort, fullEffort, renewLogin, storedLogin } from './refresh.ts';
import { within } from './transport.ts';

export interface SessionOptions {
  readonly api: Api;
  readonly store: CredentialStore;
  readonly clock?: Clock;
  /**
   * Further origins whose requests `fetch` may send the access token with. The service's own always may. Plain http
   * to another machine needs an api with `insecureHttp`.
   */
  readonly origins?: readonly string[];
  /** For the beginning of an answer to `fetch`; how long its body takes is the caller's to say. */
  readonly fetchTimeoutMilliseconds?: number;
}

interface PendingRequest {
  readonly signal?: AbortSignal | undefined;
}

/** A stored login, kept alive. Any number of these, in any number of processes, may share one. */
export interface Session {
  readonly server: string;
  /**
   * A valid access token. Renewed early, and once for all who ask.
   * @throws {LatchkeyError} `not_logged_in`; `login_over`, and only then it is removed; any other leaves the login
   * as it is
   */
  accessToken(asking?: PendingRequest): Promise<string>;
  /** Another one than this, which somebody answered 401. */
  renew(rejectedAccessToken: string, asking?: PendingRequest): Promise<string>;
  /** `api.call` with the access token, once more with another one after a 401. */
  call<Id extends OperationId>(id: Id, input?: CallInput<Id>): Promise<Answer<Id>>;
  callWithHeaders<Id extends OperationId>(id: Id, input?: CallInput<Id>): Promise<AnswerWithHeaders<Id>>;
  /**
   * `fetch` with the access token for the origins that may see it, once more with another one after a 401, unless
   * the body is a stream. Follows no redirects. A path is one of the service's own.
   * @throws {LatchkeyError} `unreachable`, `timeout` when no answer begins in time, `aborted`, and as `accessToken`
   */
  fetch(input: string | URL, init?: RequestInit): Promise<Response>;
  /**
   * Ends this login, or every login of the user, and removes it from the store once the service has agreed or
   * knows it no more.
   * @throws {LatchkeyError} `not_logged_in`; whatever kept the service from agreeing, and the login stays
   */
  logout(options?: PendingRequest & { readonly everywhere?: boolean }): Promise<void>;
}

/** A token is renewed when this much of its life is left, or this part of it, whichever is less. */
const renewBeforeMilliseconds = 300_000;
const renewBeforePart = 0.1;
/** While the token still works, a renewal that failed or is under way elsewhere is left alone for this long. */
const renewAgainMilliseconds = 30_000;
/** How much longer than its life a token may seem to last before the clock must have been set back. */
const clockToleranceMilliseconds = 60_000;

const defaultFetchTimeoutMilliseconds = 60_000;

type Standing = 'fresh' | 'due' | 'expired';

/** How an access token stands by this machine's clock. An exchange without an answer is to be finished. */
export function freshness(login: StoredLogin, now: number): Standing {
  const left = login.access_token_expires_at - now;
  const life = login.access_token_lifetime_seconds * 1000;
  if (left <= 0) return 'expired';
  const sinceStart = now - (login.refresh_started_at ?? Number.NEGATIVE_INFINITY);
  if (sinceStart >= 0 && sinceStart < renewAgainMilliseconds) return 'fresh';
  const isDue =
    left < Math.min(renewBeforeMilliseconds, life * renewBeforePart) ||
    left > life + clockToleranceMilliseconds ||
    login.refresh_started_at !== undefined;
  return isDue ? 'due' : 'fresh';
}

/** One renewal and how many wait for it. When the last of them leaves, it is ended. */
interface Shared {
  readonly login: Promise<StoredLogin>;
  readonly controller: AbortController;
  waiting: number;
}

export function openSession({
  api,
  store,
  clock = systemClock,
  origins = [],
  fetchTimeoutMilliseconds = defaultFetchTimeoutMilliseconds,
}: SessionOptions): Session {
  const parts = { api, store, clock };
  if (!api.insecureHttp) origins.forEach(requireEncrypted);
  const trusted = new Set([api.server, ...origins]);
  /** By the unwanted access token. */
  const renewals = new Map<string, Shared>();

  async function renewed(
    unwanted: string,
    effort: Effort,
    signal: AbortSignal | undefined,
  ): Promise<StoredLogin> {
    if (signal?.aborted) throw aborted(signal);
    const shared = renewals.get(unwanted) ?? begin(unwanted, effort);
    shared.waiting++;
    try {
      return await unlessAborted(shared.login, signal);
    } finally {
      shared.waiting--;
      if (shared.waiting === 0) {
        forget(unwanted, shared);
        shared.controller.abort();
      }
    }
  }

  function begin(unwanted: string, effort: Effort): Shared {
    const controller = new AbortController();
    const login = renewLogin(parts, unwanted, effort, controller.signal);
    const shared: Shared = { login, controller, waiting: 0 };
    renewals.set(unwanted, shared);
    const end = () => forget(unwanted, shared);
    login.then(end, end);
    return shared;
  }

  const forget = (unwanted: string, shared: Shared) => {
    if (renewals.get(unwanted) === shared) renewals.delete(unwanted);
  };

  const accessToken: Session['accessToken'] = async ({ signal } = {}) => {
    const login = await unlessAborted(storedLogin(store), signal);
    const standing = freshness(login, clock.now());
    if (standing === 'fresh') return login.access_token;
    const effort = standing === 'due' ? earlyEffort : fullEffort;
    try {
      return (await renewed(login.access_token, effort, signal)).access_token;
    } catch (error) {
      const isOver = hasCode(error, 'aborted', 'not_logged_in', 'login_over', 'account_disabled');
      if (standing === 'expired' || isOver) throw error;
      return login.access_token;
    }
  };

  const renew: Session['renew'] = async (rejectedAccessToken, { signal } = {}) =>
    (await renewed(rejectedAccessToken, fullEffort, signal)).access_token;

  const callWithHeaders: Session['callWithHeaders'] = async (id, input = {}) => {
    const token = await accessToken(input);
    try {
      return await api.callWithHeaders(id, { ...input, accessToken: token });
    } catch (error) {
      if (!hasCode(error, 'invalid_token')) throw error;
      return api.callWithHeaders(id, { ...input, accessToken: await renew(token, input) });
    }
  };

  return {
    server: api.server,
    accessToken,
    renew,
    call: async (id, input) => (await callWithHeaders(id, input)).body,
    callWithHeaders,

    fetch: async (input, init = {}) => {
      const url = new URL(input, api.server);
      const signal = init.signal ?? undefined;
      const send = (token?: string) => {
        const headers = new Headers(init.headers);
        if (token !== undefined) headers.set('Authorization', `Bearer ${token}`);
        return within(fetchTimeoutMilliseconds, signal, url.origin, (stop) =>
          api.fetch(url.href, { ...init, headers, redirect: 'error', signal: stop }),
        );
      };
      if (!trusted.has(url.origin)) return send();
      const token = await accessToken({ signal });
      const answer = await send(token);
      if (answer.status !== 401 || init.body instanceof ReadableStream) return answer;
      const another = await renew(token, { signal });
      await answer.body?.cancel();
      return send(another);
    },

    logout: async ({ everywhere = false, signal } = {}) => {
      const login = await storedLogin(store);
      try {
        await callWithHeaders('logout', { ...(everywhere ? {} : { query: { scope: 'session' } }), signal });
      } catch (error) {
        // With a login that is over, nobody can end the others.
        if (hasCode(error, 'login_over') && !everywhere) return;
        // All logins of a disabled account are over for good.
        if (!hasCode(error, 'account_disabled')) throw error;
      }
      // A renewal of this very login by somebody else is as dead as it; a new login since then is not.
      await store.lockForRefresh(
        async () => {
          const stored = await store.read();
          if (stored?.logged_in_at === login.logged_in_at) await store.replace(stored, null);
        },
        { signal },
      );
    },
  };
}
