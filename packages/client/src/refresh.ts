import type { Api } from './api.ts';
import type { Clock } from './clock.ts';
import {
  type CredentialStore,
  hasSameRefreshRequest,
  type StoredLogin,
  type StoredSession,
  tokenMembers,
} from './credentials.ts';
import { hasCode, LatchkeyError } from './errors.ts';
import { withRetries } from './transport.ts';

export interface RefreshContext {
  readonly api: Api;
  readonly store: CredentialStore;
  readonly clock: Clock;
}

/** How persistently one refresh tries. */
export interface Effort {
  /** Before each retry; none means a single try. */
  readonly pausesMs: readonly number[];
  /** Of each try. */
  readonly timeoutMs: number;
  /** Undefined: the store's default. */
  readonly lockMs: number | undefined;
}

/** All tries and pauses together take less than the time that others wait for the lock. */
export const fullEffort: Effort = {
  pausesMs: [250, 1000, 3000],
  timeoutMs: 10_000,
  lockMs: undefined,
};

/** For a token that still works: callers should not wait long for a new one. */
export const earlyEffort: Effort = {
  pausesMs: [],
  timeoutMs: 5_000,
  lockMs: 1_000,
};

/** A longer `Retry-After` is left to the caller. */
const maxPauseMs = 5_000;
/** Before a refused login is removed: a process that does not share the lock may be about to store its successor. */
const secondLookMs = 1_000;
/** A replayed response may bring a token that has expired since, and another process may have stored another key. */
const maxRounds = 3;

/**
 * The stored login, with an access token other than the rejected one. One process at a time refreshes, and waiting
 * processes use its result. Nothing is sent before a write to the store has succeeded, and the successor is stored
 * before it is used.
 * @throws {LatchkeyError} `not_logged_in`, `login_over` (the login is removed), `account_disabled`, `store_failed`,
 * `lock_timeout`, `aborted`, `invalid_token` (for a key, which is kept), or the error that the last try failed with
 */
export const renewLogin = (
  context: RefreshContext,
  rejectedAccessToken: string,
  effort: Effort,
  signal: AbortSignal,
): Promise<StoredLogin> =>
  context.store.lockForRefresh(
    async () => {
      const isUsable = (login: StoredLogin) =>
        login.kind === 'key' || login.access_token_expires_at > context.clock.now();
      let stored = await requireStoredLogin(context.store);
      if (stored.access_token !== rejectedAccessToken && isUsable(stored)) return stored;
      if (stored.kind === 'key') throw keyRefused(context.store);
      const { refresh_token: spent } = stored;
      for (let round = 0; round < maxRounds; round++) {
        stored = await refreshOnce(context, stored, effort, signal);
        if (stored.kind === 'key' || (stored.refresh_token !== spent && isUsable(stored))) break;
      }
      return stored;
    },
    { signal, timeoutMs: effort.lockMs },
  );

/** @throws {LatchkeyError} `not_logged_in` if none is stored */
export async function requireStoredLogin(store: CredentialStore): Promise<StoredLogin> {
  const stored = await store.read();
  if (!stored) throw new LatchkeyError('not_logged_in', `You are not signed in to ${nameOf(store)}.`);
  return stored;
}

const nameOf = ({ server, account }: CredentialStore): string =>
  account === undefined ? server : `${server} as ${account}`;

const keyRefused = ({ server }: CredentialStore): LatchkeyError =>
  new LatchkeyError('invalid_token', `${server} does not accept the stored key.`, { status: 401 });

async function refreshOnce(
  context: RefreshContext,
  stored: StoredSession,
  effort: Effort,
  signal: AbortSignal,
): Promise<StoredLogin> {
  const { store, clock } = context;
  const started = { ...stored, refresh_started_at: clock.now() };
  if (!(await store.replace(stored, started))) return requireStoredLogin(store);
  let successor: Successor | undefined;
  try {
    successor = await requestSuccessor(context, stored, effort, signal);
  } catch (error) {
    if (hasCode(error, 'invalid_grant') && error.status === 400)
      return resolveRefusal(context, stored, error);
    throw error;
  }
  if (!successor) return requireStoredLogin(store);
  const { refresh_started_at: _, clock_offset_milliseconds: __, ...lasting } = stored;
  const next: StoredSession = { ...lasting, ...successor };
  return (await store.replace(stored, next)) ? next : requireStoredLogin(store);
}

type Successor = ReturnType<typeof tokenMembers>;

/**
 * Requests the successor, with retries: the same request with the same key counts as one refresh. Undefined if a
 * process that does not share the lock has stored another token or key between two tries. The token at hand may be
 * two refreshes old by then, and the service treats such a token as stolen.
 */
function requestSuccessor(
  { api, store, clock }: RefreshContext,
  stored: StoredSession,
  { pausesMs, timeoutMs }: Effort,
  signal: AbortSignal,
): Promise<Successor | undefined> {
  return withRetries({ pausesMs, maxPauseMs }, clock, signal, async (tries) => {
    if (tries > 0 && !hasSameRefreshRequest(await requireStoredLogin(store), stored)) return undefined;
    const requestedAt = clock.now();
    const answer = await api.call('refresh', {
      body: { refresh_token: stored.refresh_token },
      headers: { 'Idempotency-Key': stored.idempotency_key },
      signal,
      timeoutMs,
    });
    return tokenMembers(answer, requestedAt, api.serverTime());
  });
}

/**
 * Resolves a refused refresh. Another process may have refreshed the login, or stored the key that the token was
 * really spent with; otherwise the session has ended, and the stored login is removed.
 */
async function resolveRefusal(
  { store, clock }: RefreshContext,
  refused: StoredSession,
  cause: LatchkeyError,
): Promise<StoredLogin> {
  for (const pause of [0, secondLookMs]) {
    await clock.sleep(pause);
    const stored = await requireStoredLogin(store);
    if (!hasSameRefreshRequest(stored, refused)) return stored;
  }
  if (!(await store.replace(refused, null))) return requireStoredLogin(store);
  throw new LatchkeyError('login_over', `Your session at ${store.server} has ended.`, {
    status: cause.status,
    requestId: cause.requestId,
    cause,
  });
}
