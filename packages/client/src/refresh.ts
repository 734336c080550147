import type { Api } from './api.ts';
import type { Clock } from './clock.ts';
import {
  type CredentialStore,
  checkedTokens,
  isSameGrant,
  type StoredLogin,
  tokenMembers,
} from './credentials.ts';
import { hasCode, LatchkeyError } from './errors.ts';

export interface RefreshParts {
  readonly api: Api;
  readonly store: CredentialStore;
  readonly clock: Clock;
}

/** How hard one exchange tries. */
export interface Effort {
  /** Before each further try; none means one try. */
  readonly pausesMilliseconds: readonly number[];
  /** For each try. */
  readonly timeoutMilliseconds: number;
  /** Undefined: the store's own. */
  readonly lockMilliseconds: number | undefined;
}

/** All tries and pauses together stay below the time that others wait for the lock. */
export const fullEffort: Effort = {
  pausesMilliseconds: [250, 1000, 3000],
  timeoutMilliseconds: 10_000,
  lockMilliseconds: undefined,
};

/** For a token that still works: nobody should wait long for a better one. */
export const earlyEffort: Effort = {
  pausesMilliseconds: [],
  timeoutMilliseconds: 5_000,
  lockMilliseconds: 1_000,
};

/** A server that asks for more patience than this is not asked again by itself. */
const maxPauseMilliseconds = 5_000;
/** Before a refused login is given up: somebody who does not share the lock may be about to store its successor. */
const secondLookMilliseconds = 1_000;
/** A repeated answer may bring a token that has run out since, and another process may have stored another key. */
const maxRounds = 3;

/**
 * The stored login, with another access token than the unwanted one. One process at a time exchanges; who waited
 * finds the result. Nothing is sent before the store has shown that it can be written, and the successor is
 * stored before anybody uses it.
 * @throws {LatchkeyError} `not_logged_in`, `login_over` (and it is removed), `account_disabled`, `store_failed`,
 * `lock_timeout`, whatever kept the exchange from its answer, `aborted`
 */
export const renewLogin = (
  parts: RefreshParts,
  unwantedAccessToken: string,
  effort: Effort,
  signal: AbortSignal,
): Promise<StoredLogin> =>
  parts.store.lockForRefresh(
    async () => {
      let login = await storedLogin(parts.store);
      const isOver = () => login.access_token_expires_at <= parts.clock.now();
      if (login.access_token !== unwantedAccessToken && !isOver()) return login;
      const { refresh_token: spent } = login;
      for (let round = 0; round < maxRounds; round++) {
        login = await exchange(parts, login, effort, signal);
        if (login.refresh_token !== spent && !isOver()) break;
      }
      return login;
    },
    { signal, timeoutMilliseconds: effort.lockMilliseconds },
  );

/** @throws {LatchkeyError} `not_logged_in` */
export async function storedLogin(store: CredentialStore): Promise<StoredLogin> {
  const login = await store.read();
  if (!login) throw new LatchkeyError('not_logged_in', `There is no login for ${store.server}.`);
  return login;
}

async function exchange(
  parts: RefreshParts,
  login: StoredLogin,
  effort: Effort,
  signal: AbortSignal,
): Promise<StoredLogin> {
  const { store, clock } = parts;
  const started = { ...login, refresh_started_at: clock.now() };
  if (!(await store.replace(login, started))) return storedLogin(store);
  let successor: Successor | undefined;
  try {
    successor = await send(parts, login, effort, signal);
  } catch (error) {
    if (hasCode(error, 'invalid_grant') && error.status === 400) return refused(parts, login, error);
    throw error;
  }
  if (!successor) return storedLogin(store);
  const { refresh_started_at: _, ...lasting } = login;
  const next: StoredLogin = { ...lasting, ...successor };
  return (await store.replace(login, next)) ? next : storedLogin(store);
}

type Successor = ReturnType<typeof tokenMembers>;

/**
 * The same request with the same key is the same exchange, however often it is sent. Undefined when somebody who
 * does not share the lock has stored another token or key between two tries: the token at hand may be two
 * exchanges old by then, and the service takes such a token for stolen.
 */
async function send(
  { api, store, clock }: RefreshParts,
  login: StoredLogin,
  { pausesMilliseconds, timeoutMilliseconds }: Effort,
  signal: AbortSignal,
): Promise<Successor | undefined> {
  for (let tries = 0; ; tries++) {
    if (tries > 0 && !isSameGrant(await storedLogin(store), login)) return undefined;
    const askedAt = clock.now();
    try {
      const answer = await api.call('refresh', {
        body: { refresh_token: login.refresh_token },
        headers: { 'Idempotency-Key': login.idempotency_key },
        signal,
        timeoutMilliseconds,
      });
      return tokenMembers(checkedTokens(answer), askedAt);
    } catch (error) {
      const pause = pausesMilliseconds[tries];
      if (pause === undefined || !(error instanceof LatchkeyError) || !error.retryable) throw error;
      const wanted = Math.max(pause, (error.retryAfterSeconds ?? 0) * 1000);
      if (wanted > maxPauseMilliseconds) throw error;
      await clock.sleep(wanted, signal);
    }
  }
}

/**
 * The service refused this refresh token with this key. Either somebody has renewed the login, or stored the key
 * that the token was really spent with, or the login is over.
 */
async function refused(
  { store, clock }: RefreshParts,
  login: StoredLogin,
  cause: LatchkeyError,
): Promise<StoredLogin> {
  for (const pause of [0, secondLookMilliseconds]) {
    await clock.sleep(pause);
    const stored = await storedLogin(store);
    if (!isSameGrant(stored, login)) return stored;
  }
  if (!(await store.replace(login, null))) return storedLogin(store);
  throw new LatchkeyError('login_over', `The login at ${store.server} is over.`, {
    status: cause.status,
    requestId: cause.requestId,
    cause,
  });
}
