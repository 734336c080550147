import type { TokenSet } from '@latchkey/contract/tokens';
import { LatchkeyError } from './errors.ts';

/** What a program stores of a session. Times in milliseconds are by this machine's clock. */
export interface StoredLogin {
  /** The origin of the service, like `https://login.example`. */
  readonly server: string;
  readonly user: { readonly id: string; readonly email: string };
  readonly session_id?: string;
  /** RFC 3339. */
  readonly logged_in_at: string;
  readonly access_token: string;
  /** Milliseconds since 1970. */
  readonly access_token_expires_at: number;
  readonly access_token_lifetime_seconds: number;
  readonly refresh_token: string;
  /**
   * Sent with every request that spends this refresh token, so that all of them get the same successor. Random for
   * each token, so that a copy of the credentials does not reveal the next key.
   */
  readonly idempotency_key: string;
  /** Milliseconds since 1970; set while a refresh is in progress or its response was lost. */
  readonly refresh_started_at?: number;
}

/** Everything stored for a person on one machine: one login per server. */
export interface CredentialDocument {
  readonly version: 1;
  /** The server last signed in to. */
  readonly current_server: string | null;
  readonly logins: Readonly<Record<string /* server */, StoredLogin>>;
}

export interface LockOptions {
  readonly signal?: AbortSignal | undefined;
  /** Maximum wait for the lock; the work itself is not limited. */
  readonly timeoutMilliseconds?: number | undefined;
}

/** Where the document is kept. Every error is a `LatchkeyError`. */
export interface Storage {
  /** For people: "the file /home/ada/.config/latchkey/credentials.json". */
  readonly description: string;
  /**
   * The empty document if there is none. Unknown members are kept.
   * @throws {LatchkeyError} `store_failed`; `store_corrupt`, with nothing overwritten
   */
  read(): Promise<CredentialDocument>;
  /**
   * Atomic, and durable once it resolves.
   * @throws {LatchkeyError} `store_failed`
   */
  write(document: CredentialDocument): Promise<void>;
  /**
   * Runs the work while holding a lock that excludes everyone sharing the document, in this and other processes.
   * It is released when its owner dies. Locks of different names are independent, so they can be nested.
   * @throws {LatchkeyError} `lock_timeout`, `aborted`; the work has not started then
   */
  lock<T>(name: string, work: () => Promise<T>, options?: LockOptions): Promise<T>;
}

/** The stored login of one server. */
export interface CredentialStore {
  readonly server: string;
  /** For people: where the login is stored. */
  readonly description: string;
  read(): Promise<StoredLogin | null>;
  /** Stores a new login in place of any other, and makes its server the current one. */
  put(login: StoredLogin): Promise<void>;
  /**
   * Compare and set: stores `next`, or removes the login if that is null, provided that the stored login still has
   * the refresh token and key of `expected` (null: provided that none is stored). False if it has changed.
   */
  replace(expected: StoredLogin | null, next: StoredLogin | null): Promise<boolean>;
  /** One at a time across all processes that share the stored login. */
  lockForRefresh<T>(work: () => Promise<T>, options?: LockOptions): Promise<T>;
}

export const emptyDocument: CredentialDocument = { version: 1, current_server: null, logins: {} };

/** Reading and writing the document is quick: a longer wait means that something is broken. */
export const documentLockMilliseconds = 10_000;
/** Longer than one refresh with all its retries, so that waiting processes find its result. */
export const refreshLockMilliseconds = 60_000;

export function credentialStore(storage: Storage, server: string): CredentialStore {
  const update = <T>(work: () => Promise<T>) =>
    storage.lock('document', work, { timeoutMilliseconds: documentLockMilliseconds });
  const loginIn = (document: CredentialDocument): StoredLogin | null =>
    Object.hasOwn(document.logins, server) ? (document.logins[server] ?? null) : null;

  return {
    server,
    description: storage.description,
    read: async () => loginIn(await storage.read()),
    put: (login) =>
      update(async () => {
        const document = await storage.read();
        const logins = { ...document.logins, [server]: login };
        await storage.write({ ...document, current_server: server, logins });
      }),
    replace: (expected, next) =>
      update(async () => {
        const document = await storage.read();
        if (!hasSameRefreshRequest(loginIn(document), expected)) return false;
        const { [server]: _, ...others } = document.logins;
        await storage.write({ ...document, logins: next ? { ...others, [server]: next } : others });
        return true;
      }),
    lockForRefresh: (work, { signal, timeoutMilliseconds = refreshLockMilliseconds } = {}) =>
      storage.lock(`refresh:${server}`, work, { signal, timeoutMilliseconds }),
  };
}

/**
 * Whether two logins would send the same refresh request. Without a working lock, two processes may store the same
 * token with different keys, of which the service accepts only one.
 */
export const hasSameRefreshRequest = (one: StoredLogin | null, other: StoredLogin | null): boolean =>
  one?.refresh_token === other?.refresh_token && one?.idempotency_key === other?.idempotency_key;

/** An unguessable key for one request and its retries. */
export const newIdempotencyKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  );

/** No access token lives this long, and any date computed from it is still valid. */
const maxLifetimeSeconds = 2 ** 31;
/** Characters that a header can carry. @see RFC 6749 appendix A */
const isToken = (value: unknown): value is string =>
  typeof value === 'string' && /^[\x20-\x7e]+$/.test(value);

/**
 * A token response with every member that is needed later.
 * @throws {LatchkeyError} `not_latchkey`
 */
export function checkedTokens(answer: unknown): TokenSet {
  const { access_token, refresh_token, expires_in } = Object(answer) as Partial<TokenSet>;
  const isComplete =
    isToken(access_token) &&
    isToken(refresh_token) &&
    typeof expires_in === 'number' &&
    expires_in >= 0 &&
    expires_in <= maxLifetimeSeconds;
  if (!isComplete) throw new LatchkeyError('not_latchkey', 'The response contains no tokens.');
  return answer as TokenSet;
}

/**
 * The members of a stored login that a token response brings, with a new idempotency key. Store them in one write,
 * and discard them if another process has already stored the same token.
 * @param requestedAt this machine's clock when the request was sent
 */
export const tokenMembers = (tokens: TokenSet, requestedAt: number) => ({
  access_token: tokens.access_token,
  access_token_expires_at: requestedAt + tokens.expires_in * 1000,
  access_token_lifetime_seconds: tokens.expires_in,
  refresh_token: tokens.refresh_token,
  idempotency_key: newIdempotencyKey(),
});
