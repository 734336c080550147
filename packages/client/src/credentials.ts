import type { TokenSet } from '@latchkey/contract/tokens';
import { LatchkeyError } from './errors.ts';

/** One stored login. Times in milliseconds are of this machine's clock. */
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
   * Sent with every request that spends this refresh token, so that each of them gets the same successor. Random
   * for each token: with a copy of the credentials nobody can compute the key of the next one.
   */
  readonly idempotency_key: string;
  /** Milliseconds since 1970; there while an exchange is under way or its answer got lost. */
  readonly refresh_started_at?: number;
}

/** All that is stored: the logins of a person on one machine, one a server. */
export interface CredentialDocument {
  readonly version: 1;
  /** The server last logged in to. */
  readonly current_server: string | null;
  readonly logins: Readonly<Record<string /* server */, StoredLogin>>;
}

export interface LockOptions {
  readonly signal?: AbortSignal | undefined;
  /** How long to wait for the lock at most; not how long the work may take. */
  readonly timeoutMilliseconds?: number | undefined;
}

/** Where the document lies. What it throws is a LatchkeyError. */
export interface Storage {
  /** For people: "the file /home/ada/.config/latchkey/credentials.json". */
  readonly description: string;
  /**
   * The empty document when there is none. Members it does not know are kept.
   * @throws {LatchkeyError} `store_failed`; `store_corrupt`, and nothing is overwritten
   */
  read(): Promise<CredentialDocument>;
  /**
   * All or nothing, and durable when it resolves.
   * @throws {LatchkeyError} `store_failed`
   */
  write(document: CredentialDocument): Promise<void>;
  /**
   * Does the work while nobody else who shares the document, in this or another process, holds this lock. It dies
   * with its owner. Locks of different names do not wait for each other, so one may be taken inside another.
   * @throws {LatchkeyError} `lock_timeout`, `aborted`; then the work was not begun
   */
  lock<T>(name: string, work: () => Promise<T>, options?: LockOptions): Promise<T>;
}

/** The stored login of one server. */
export interface CredentialStore {
  readonly server: string;
  /** For people: where the login lies. */
  readonly description: string;
  read(): Promise<StoredLogin | null>;
  /** Stores a new login over whatever was there, and makes its server the current one. */
  put(login: StoredLogin): Promise<void>;
  /**
   * Stores `next`, or removes the login, if the stored login still has the refresh token and the key of the
   * expected one (`null`: if there is no login). False, and nothing changed, if somebody else was faster.
   */
  replace(expected: StoredLogin | null, next: StoredLogin | null): Promise<boolean>;
  /** One at a time over all processes that share the stored login. */
  lockForRefresh<T>(work: () => Promise<T>, options?: LockOptions): Promise<T>;
}

export const emptyDocument: CredentialDocument = { version: 1, current_server: null, logins: {} };

/** Reading and writing the document is short; who waits longer than this waits for something broken. */
export const documentLockMilliseconds = 10_000;
/** Longer than one exchange with all its tries, so that who waits finds its result. */
export const refreshLockMilliseconds = 60_000;

export function credentialStore(storage: Storage, server: string): CredentialStore {
  const change = <T>(work: () => Promise<T>) =>
    storage.lock('document', work, { timeoutMilliseconds: documentLockMilliseconds });
  const loginIn = (document: CredentialDocument): StoredLogin | null =>
    Object.hasOwn(document.logins, server) ? (document.logins[server] ?? null) : null;

  return {
    server,
    description: storage.description,
    read: async () => loginIn(await storage.read()),
    put: (login) =>
      change(async () => {
        const document = await storage.read();
        const logins = { ...document.logins, [server]: login };
        await storage.write({ ...document, current_server: server, logins });
      }),
    replace: (expected, next) =>
      change(async () => {
        const document = await storage.read();
        if (!isSameGrant(loginIn(document), expected)) return false;
        const { [server]: _, ...others } = document.logins;
        await storage.write({ ...document, logins: next ? { ...others, [server]: next } : others });
        return true;
      }),
    lockForRefresh: (work, { signal, timeoutMilliseconds = refreshLockMilliseconds } = {}) =>
      storage.lock(`refresh:${server}`, work, { signal, timeoutMilliseconds }),
  };
}

/**
 * Whether two logins would send the same refresh request. Two processes without a working lock may store one
 * token with two keys; only one of these keys gets an answer from the service.
 */
export const isSameGrant = (one: StoredLogin | null, other: StoredLogin | null): boolean =>
  one?.refresh_token === other?.refresh_token && one?.idempotency_key === other?.idempotency_key;

/** A key that nobody can guess, for one request and its repetitions. */
export const newIdempotencyKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  );

/** No access token lives this long, and every date that is counted from it can be written down. */
const maxLifetimeSeconds = 2 ** 31;
/** What a header can carry: RFC 6749, appendix A. */
const isToken = (value: unknown): value is string =>
  typeof value === 'string' && /^[\x20-\x7e]+$/.test(value);

/**
 * A token answer that has all that will be needed of it.
 * @throws {LatchkeyError} `not_latchkey`
 */
export function checkedTokens(answer: unknown): TokenSet {
  const { access_token, refresh_token, expires_in } = Object(answer) as Partial<TokenSet>;
  const isWhole =
    isToken(access_token) &&
    isToken(refresh_token) &&
    typeof expires_in === 'number' &&
    expires_in >= 0 &&
    expires_in <= maxLifetimeSeconds;
  if (!isWhole) throw new LatchkeyError('not_latchkey', 'The answer holds no tokens.');
  return answer as TokenSet;
}

/**
 * What a token answer becomes in the store, with a new idempotency key: store both in one write, and use nothing
 * of it where somebody else has stored the same token before. `askedAt`: this machine's clock at the request.
 */
export const tokenMembers = (tokens: TokenSet, askedAt: number) => ({
  access_token: tokens.access_token,
  access_token_expires_at: askedAt + tokens.expires_in * 1000,
  access_token_lifetime_seconds: tokens.expires_in,
  refresh_token: tokens.refresh_token,
  idempotency_key: newIdempotencyKey(),
});
