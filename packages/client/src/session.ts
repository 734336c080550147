import { type AnswerWithHeaders, type Api, type CallInput, requireEncrypted } from './api.ts';
import { type Clock, systemClock, unlessAborted } from './clock.ts';
import type { CredentialStore, StoredLogin, StoredSession } from './credentials.ts';
import { hasCode, LatchkeyError } from './errors.ts';
import type { Answer, OperationId } from './operations.ts';
import { type Effort, earlyEffort, fullEffort, renewLogin, requireStoredLogin } from './refresh.ts';
import { sharedWork } from './shared-work.ts';
import { within } from './transport.ts';

export interface SessionOptions extends CallOptions {
  readonly store: CredentialStore;
  readonly clock?: Clock;
}

export interface CallOptions {
  readonly api: Api;
  /** Further origins that get the token from `fetch`. Plain http to another machine needs `insecureHttp`. */
  readonly origins?: readonly string[] | undefined;
  /** Until the response to `fetch` begins; the caller limits its body. */
  readonly fetchTimeoutMs?: number | undefined;
}

interface Abortable {
  readonly signal?: AbortSignal | undefined;
}

/** Keeps a stored login alive. Any number of sessions, in any number of processes, can share one stored login. */
export interface Session {
  readonly server: string;
  /**
   * A valid access token, refreshed early and once for all concurrent callers.
   * @throws {LatchkeyError} `not_logged_in`; `login_over`, the only error that removes the stored login; any other
   * leaves it unchanged
   */
  accessToken(options?: Abortable): Promise<string>;
  /** A different access token, after a 401 for this one. */
  renew(rejectedAccessToken: string, options?: Abortable): Promise<string>;
  /** `api.call` with the access token, repeated once with a new one after a 401. */
  call<Id extends OperationId>(id: Id, input?: CallInput<Id>): Promise<Answer<Id>>;
  callWithHeaders<Id extends OperationId>(id: Id, input?: CallInput<Id>): Promise<AnswerWithHeaders<Id>>;
  /**
   * `fetch` that adds the access token for trusted origins. Repeated once with a new one after a 401, unless the body
   * is a stream. Follows no redirects. A path is relative to the service.
   * @throws {LatchkeyError} `unreachable`, `timeout` if no response begins in time, `aborted`, and as `accessToken`
   */
  fetch(input: string | URL, init?: RequestInit): Promise<Response>;
  /**
   * Ends this session, or every session of the user. Removes the stored login once the service has confirmed or no
   * longer knows the session. A stored key is only removed here, unless it ends everything.
   * @throws {LatchkeyError} `not_logged_in`; any other error leaves the stored login in place, of `store_failed` the
   * message says whether the session has ended
   */
  logout(options?: Abortable & { readonly everywhere?: boolean }): Promise<void>;
}

/** A token is refreshed when this much of its lifetime is left, or this part of it, whichever is less. */
const renewBeforeMs = 300_000;
const renewBeforePart = 0.1;
/** While the token still works, a refresh that failed or is in progress elsewhere is left alone for this long. */
const renewAgainMs = 30_000;
/** A token that seems to outlast its lifetime by more than this means that the clock was set back. */
const clockToleranceMs = 60_000;

const defaultFetchTimeoutMs = 60_000;

/** Whether an access token needs a refresh. One without a response is due again. @internal */
export function freshness(stored: StoredSession, now: number): 'fresh' | 'due' | 'expired' {
  const left = stored.access_token_expires_at - now;
  const lifetime = stored.access_token_lifetime_seconds * 1000;
  if (left <= 0) return 'expired';
  const sinceStart = now - (stored.refresh_started_at ?? Number.NEGATIVE_INFINITY);
  if (sinceStart >= 0 && sinceStart < renewAgainMs) return 'fresh';
  const isDue =
    left < Math.min(renewBeforeMs, lifetime * renewBeforePart) ||
    left > lifetime + clockToleranceMs ||
    stored.refresh_started_at !== undefined;
  return isDue ? 'due' : 'fresh';
}

/**
 * A session for the login in this store. Opening it sends nothing.
 * @example
 * const session = openSession({ api, store });
 * const me = await session.call('getProfile');
 */
export function openSession({ api, store, clock = systemClock, ...callOptions }: SessionOptions): Session {
  const renewal = (effort: Effort) =>
    sharedWork<StoredLogin>((rejected, signal) =>
      renewLogin({ api, store, clock }, rejected, effort, signal),
    );
  /** Apart, because a caller that needs a token must not fail with one that could do without. */
  const [renewEarly, renewFully] = [renewal(earlyEffort), renewal(fullEffort)];
  /** The login whose token was sent last. */
  let sent: StoredSession | undefined;

  const accessToken: Session['accessToken'] = async ({ signal } = {}) => {
    const stored = await unlessAborted(requireStoredLogin(store), signal);
    if (stored.kind === 'key') return stored.access_token;
    sent = stored;
    const state = freshness(stored, clock.now());
    if (state === 'fresh') return stored.access_token;
    const renewOnce = state === 'due' ? renewEarly : renewFully;
    try {
      return (await renewOnce(stored.access_token, signal)).access_token;
    } catch (error) {
      const isFinal = hasCode(error, 'aborted', 'not_logged_in', 'login_over', 'account_disabled');
      if (state === 'expired' || isFinal) throw error;
      return stored.access_token;
    }
  };

  const renew: Session['renew'] = async (rejectedAccessToken, { signal } = {}) => {
    try {
      return (await renewFully(rejectedAccessToken, signal)).access_token;
    } catch (error) {
      const stored = hasCode(error, 'store_failed') ? await requireStoredLogin(store) : undefined;
      if (stored?.access_token !== rejectedAccessToken || stored.kind === 'key') throw error;
      if (freshness(stored, api.serverTime() ?? clock.now()) !== 'fresh') throw error;
      // Only the end of its session makes such a token invalid.
      throw new LatchkeyError('invalid_token', `Your session at ${store.server} has ended.`, {
        cause: error,
      });
    }
  };

  /** Corrects the stored expiry if this machine's clock has been set, or stood still, since it was stored. */
  const correctExpiry = async (): Promise<void> => {
    const serverTime = api.serverTime();
    if (serverTime === undefined || !sent) return;
    const offset = serverTime - clock.now();
    // A clock that was wrong already, without anybody noting it, costs one early refresh, which notes it.
    const lost = offset - (sent.clock_offset_milliseconds ?? 0);
    if (Math.abs(lost) <= clockToleranceMs) return;
    const access_token_expires_at = sent.access_token_expires_at - lost;
    await store.replace(sent, { ...sent, access_token_expires_at, clock_offset_milliseconds: offset });
    sent = undefined;
  };

  const calls = authorizedCalls({ api, ...callOptions }, { accessToken, renew });
  const callWithHeaders: Session['callWithHeaders'] = async (id, input) => {
    const answer = await calls.callWithHeaders(id, input);
    // The call has succeeded, whatever becomes of this.
    await correctExpiry().catch(() => {});
    return answer;
  };
  return {
    ...calls,
    call: async (id, input) => (await callWithHeaders(id, input)).body,
    callWithHeaders,
    logout: async ({ everywhere = false, signal } = {}) => {
      const ending = await requireStoredLogin(store);
      if (ending.kind === 'key' && !everywhere) return removeStoredLogin(store, ending, signal);
      try {
        await callWithHeaders('logout', { ...(everywhere ? {} : { query: { scope: 'session' } }), signal });
      } catch (error) {
        // The other sessions cannot be ended with a session that has itself ended.
        if (hasCode(error, 'login_over') && !everywhere) return;
        // All sessions of a disabled account have ended.
        if (!hasCode(error, 'account_disabled')) throw error;
      }
      await removeStoredLogin(store, ending, signal).catch((error: unknown) => {
        if (!hasCode(error, 'store_failed')) throw error;
        const message = `The session has ended, but its stored login could not be removed. ${error.message}`;
        throw new LatchkeyError('store_failed', message, { cause: error, obstacle: error.obstacle });
      });
    },
  };
}

/** The part of a session that sends requests, for any source of tokens. @internal */
export function authorizedCalls(
  { api, origins = [], fetchTimeoutMs = defaultFetchTimeoutMs }: CallOptions,
  tokens: Pick<Session, 'accessToken' | 'renew'>,
): Omit<Session, 'logout'> {
  if (!api.insecureHttp) origins.forEach(requireEncrypted);
  const trustedOrigins = new Set([api.server, ...origins]);

  /** A different token after a 401; undefined if the credential cannot be renewed, as a key cannot. */
  const renewed = (rejected: string, signal: AbortSignal | undefined): Promise<string | undefined> =>
    tokens.renew(rejected, { signal }).catch((error: unknown) => {
      if (hasCode(error, 'invalid_token')) return undefined;
      throw error;
    });

  const callWithHeaders: Session['callWithHeaders'] = async (id, input = {}) => {
    const token = await tokens.accessToken(input);
    try {
      return await api.callWithHeaders(id, { ...input, accessToken: token });
    } catch (error) {
      if (!hasCode(error, 'invalid_token')) throw error;
      const next = await renewed(token, input.signal);
      if (next === undefined) throw error;
      return api.callWithHeaders(id, { ...input, accessToken: next });
    }
  };

  return {
    server: api.server,
    ...tokens,
    call: async (id, input) => (await callWithHeaders(id, input)).body,
    callWithHeaders,
    fetch: async (input, init = {}) => {
      const url = new URL(input, api.server);
      const signal = init.signal ?? undefined;
      const send = (token?: string) => {
        const headers = new Headers(init.headers);
        if (token !== undefined) headers.set('Authorization', `Bearer ${token}`);
        return within(fetchTimeoutMs, signal, url.origin, (requestSignal) =>
          api.fetch(url.href, { ...init, headers, redirect: 'error', signal: requestSignal }),
        );
      };
      if (!trustedOrigins.has(url.origin)) return send();
      const token = await tokens.accessToken({ signal });
      const response = await send(token);
      if (response.status !== 401 || init.body instanceof ReadableStream) return response;
      const next = await renewed(token, signal);
      if (next === undefined) return response;
      await response.body?.cancel();
      return send(next);
    },
  };
}

/** Removes the login even if it was refreshed meanwhile, but not one that was stored by a new sign-in. */
const removeStoredLogin = (store: CredentialStore, ended: StoredLogin, signal: AbortSignal | undefined) =>
  store.lockForRefresh(
    async () => {
      const stored = await store.read();
      if (stored?.logged_in_at === ended.logged_in_at) await store.replace(stored, null);
    },
    { signal },
  );
