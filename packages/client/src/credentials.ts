import type { TokenSet } from '@latchkey/contract/tokens';
import { LatchkeyError } from './errors.ts';

interface StoredMembers {
  /** The origin of the service, like `https://login.example`. */
  readonly server: string;
  /** Members are '' where the service did not say. */
  readonly user: { readonly id: string; readonly email: string };
  /** RFC 3339. */
  readonly logged_in_at: string;
}

/** What a program stores of a session. Times in milliseconds are by this machine's clock. */
export interface StoredSession extends StoredMembers {
  readonly kind?: undefined;
  readonly session_id?: string;
  readonly access_token: string;
  /** Milliseconds since 1970. */
  readonly access_token_expires_at: number;
  readonly access_token_lifetime_seconds: number;
  /** How far the service's clock was ahead of this machine's at its last response that changed this, in milliseconds. */
  readonly clock_offset_milliseconds?: number;
  readonly refresh_token: string;
  /**
   * Sent with every request that spends this refresh token, so that all of them get the same successor. Random for
   * each token, so that a copy of the credentials does not reveal the next key.
   */
  readonly idempotency_key: string;
  /** Milliseconds since 1970; set while a refresh is in progress or its response was lost. */
  readonly refresh_started_at?: number;
}

/** A key that was stored instead of a session. It is never refreshed. */
export interface StoredKey extends StoredMembers {
  readonly kind: 'key';
  /** The key, which is sent as an access token is. */
  readonly access_token: string;
}

export type StoredLogin = StoredSession | StoredKey;

/** The logins of one server, side by side. */
export interface ServerLogins {
  /** The name of the login in use: the one switched to. Null after it was removed. */
  readonly current: string | null;
  readonly logins: Readonly<Record<string /* name */, StoredLogin>>;
}

/** Everything stored for a person on one machine. */
export interface CredentialDocument {
  readonly version: 1;
  /** The server last signed in to. */
  readonly current_server: string | null;
  readonly servers: Readonly<Record<string /* server */, ServerLogins>>;
}

export interface LockOptions {
  readonly signal?: AbortSignal | undefined;
  /** Maximum wait for the lock; the work itself is not limited. */
  readonly timeoutMs?: number | undefined;
}

/** Where the document is stored. Every error is a `LatchkeyError`. */
export interface Storage {
  /** For people: "the file /home/ada/.config/latchkey/credentials.json". */
  readonly description: string;
  /**
   * The empty document if there is none. Unknown members are kept.
   * @throws {LatchkeyError} `store_failed`; `store_corrupt`, with nothing overwritten
   */
  read(): Promise<CredentialDocument>;
  /** Atomic, and durable once it resolves. @throws {LatchkeyError} `store_failed` */
  write(document: CredentialDocument): Promise<void>;
  /**
   * Runs the work while holding a lock that excludes everyone sharing the document, in this and other processes.
   * It is released when its owner dies. Locks of different names are independent, so they can be nested.
   * @throws {LatchkeyError} `lock_timeout`, `aborted`; the work has not started then
   */
  lock<T>(name: string, work: () => Promise<T>, options?: LockOptions): Promise<T>;
}

/** One stored login of one server. */
export interface CredentialStore {
  readonly server: string;
  /** The name of the login. Undefined: the one in use, whichever that is at the time of each call. */
  readonly account: string | undefined;
  /** For people: where the login is stored. */
  readonly description: string;
  read(): Promise<StoredLogin | null>;
  /**
   * Stores a new login, puts it in use, and makes its server the current one. It replaces the login of this name;
   * without a name, one of the same user. Logins of other users stay.
   */
  put(login: StoredLogin): Promise<PlacedLogin>;
  /**
   * Compare and set: stores `next`, or removes the login if that is null, provided that the stored login still has
   * the refresh token and key of `expected` (null: provided that none is stored). False if it has changed.
   */
  replace(expected: StoredLogin | null, next: StoredLogin | null): Promise<boolean>;
  /** One at a time across all processes that share the logins of this server. */
  lockForRefresh<T>(work: () => Promise<T>, options?: LockOptions): Promise<T>;
}

export interface PlacedLogin {
  readonly name: string;
  readonly replaced: StoredLogin | null;
}

export const emptyDocument: CredentialDocument = { version: 1, current_server: null, servers: {} };

/** Reading and writing the document is quick: a longer wait means that something is broken. */
export const documentLockMs = 10_000;
/** Longer than one refresh with all its retries, so that waiting processes find its result. */
export const refreshLockMs = 60_000;

/**
 * @param account the name of the login. Default: the one in use
 * @example
 * const store = credentialStore(memoryStorage(), api.server);
 */
export function credentialStore(storage: Storage, server: string, account?: string): CredentialStore {
  const nameIn = ({ current }: ServerLogins) => account ?? current ?? undefined;
  const loginIn = (held: ServerLogins): StoredLogin | null => loginNamed(held, nameIn(held));

  return {
    server,
    account,
    description: storage.description,
    read: async () => loginIn(loginsAt(await storage.read(), server)),
    put: (login) =>
      updateLogins(storage, server, (held) => placeLogin(held, login, account), { current_server: server }),
    replace: (expected, next) =>
      updateLogins(storage, server, (held) => {
        const name = nameIn(held);
        if (!hasSameRefreshRequest(loginIn(held), expected)) return [undefined, false];
        if (!next) return [withoutLogin(held, name), true];
        return [withLogin(held, name ?? nameFor(held, next.user), next), true];
      }),
    lockForRefresh: (work, { signal, timeoutMs = refreshLockMs } = {}) =>
      storage.lock(`refresh:${server}`, work, { signal, timeoutMs }),
  };
}

/** The same store for this login alone, which is over once it is removed or replaced. @internal */
export const storeOfOneLogin = (store: CredentialStore, { logged_in_at }: StoredLogin): CredentialStore => ({
  ...store,
  read: async () => {
    const stored = await store.read();
    if (stored?.logged_in_at === logged_in_at) return stored;
    throw new LatchkeyError('login_over', `The login at ${store.server} has ended.`);
  },
});

/**
 * Changes the logins of a server, and members of the document, under the lock of the document. The change returns what
 * to write, if anything, and the result. A server without logins is forgotten.
 * @internal
 */
export const updateLogins = <T>(
  storage: Storage,
  server: string,
  change: (held: ServerLogins) => readonly [next: ServerLogins | undefined, result: T],
  members?: Pick<CredentialDocument, 'current_server'>,
): Promise<T> =>
  storage.lock(
    'document',
    async () => {
      const document = await storage.read();
      const [next, result] = change(loginsAt(document, server));
      if (!next) return result;
      const { [server]: _, ...others } = document.servers;
      const isEmpty = Object.keys(next.logins).length === 0;
      const servers = isEmpty ? others : { ...others, [server]: next };
      await storage.write({ ...document, servers, ...members });
      return result;
    },
    { timeoutMs: documentLockMs },
  );

const noLogins: ServerLogins = { current: null, logins: {} };

/**
 * @example
 * const { current, logins } = loginsAt(await storage.read(), 'https://login.example');
 */
export const loginsAt = ({ servers }: CredentialDocument, server: string): ServerLogins =>
  (Object.hasOwn(servers, server) ? servers[server] : undefined) ?? noLogins;

/** @internal */
export const loginNamed = ({ logins }: ServerLogins, name: string | undefined): StoredLogin | null =>
  (name !== undefined && Object.hasOwn(logins, name) ? logins[name] : undefined) ?? null;

/** The first login of a server is put in use. @internal */
export const withLogin = (held: ServerLogins, name: string, login: StoredLogin): ServerLogins => ({
  ...held,
  current: Object.keys(held.logins).length === 0 ? name : held.current,
  logins: { ...held.logins, [name]: login },
});

/**
 * Does not put another one in use: a command must not act for another account because a session has ended.
 * @internal
 */
export function withoutLogin(held: ServerLogins, name: string | undefined): ServerLogins {
  if (name === undefined) return held;
  const { [name]: _, ...logins } = held.logins;
  return { ...held, logins };
}

type StoredUser = StoredLogin['user'];

/** Puts a login in use, in place of the one with its chosen name, or else of its user. @internal */
export function placeLogin(
  held: ServerLogins,
  login: StoredLogin,
  account?: string,
): [ServerLogins, PlacedLogin] {
  const formerName = account ?? ownLogin(held, login.user);
  const name = account ?? nameFor(held, login.user);
  const next = withLogin(withoutLogin(held, formerName), name, login);
  return [
    { ...next, current: name },
    { name, replaced: loginNamed(held, formerName) },
  ];
}

/** The name of a login of this user, of several the one in use. */
function ownLogin(held: ServerLogins, user: StoredUser): string | undefined {
  const isOwn = (name: string) => user.id !== '' && held.logins[name]?.user.id === user.id;
  const own = Object.keys(held.logins).filter(isOwn);
  return own.find((name) => name === held.current) ?? own[0];
}

/** The default name of a new login: the name of the one that it replaces, if that was chosen, or else the user's address. */
function nameFor(held: ServerLogins, user: StoredUser): string {
  const former = ownLogin(held, user);
  const isKept = former !== undefined && (user.email === '' || !isDerived(former, loginNamed(held, former)));
  if (isKept) return former;
  const wanted = derivedName(user);
  // Another user's login may have this name: it was chosen, or the address has changed hands.
  for (let count = 1; ; count++) {
    const name = count === 1 ? wanted : `${wanted}-${count}`;
    if (name === former || !loginNamed(held, name)) return name;
  }
}

/** A key may be too narrow to see its user's address, or even whose it is. */
const derivedName = ({ email, id }: StoredUser): string => email || id || 'default';

function isDerived(name: string, login: StoredLogin | null): boolean {
  const derived = derivedName(login?.user ?? { id: '', email: '' });
  return name.startsWith(derived) && /^(-\d+)?$/.test(name.slice(derived.length));
}

/**
 * Whether two logins would send the same refresh request. Without a working lock, two processes may store the same
 * token with different keys, of which the service accepts only one.
 * @internal
 */
export const hasSameRefreshRequest = (one: StoredLogin | null, other: StoredLogin | null): boolean =>
  one?.kind === 'key' || other?.kind === 'key'
    ? one?.kind === other?.kind && one?.access_token === other?.access_token
    : one?.refresh_token === other?.refresh_token && one?.idempotency_key === other?.idempotency_key;

/** An unguessable key for one request and its retries. @internal */
export const newIdempotencyKey = (): string =>
  btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(16))));

/**
 * The members of a stored login that a token response brings, with a new idempotency key. Store them in one write,
 * and discard them if another process has already stored the same token.
 * @param requestedAt this machine's clock when the request was sent
 * @param serverTime `api.serverTime()` after the response. With it, a session notices when this machine's clock is set later
 * @example
 * await store.put({ server: api.server, user, logged_in_at, ...tokenMembers(tokens, Date.now(), api.serverTime()) });
 */
export const tokenMembers = (tokens: TokenSet, requestedAt: number, serverTime?: number) => ({
  access_token: tokens.access_token,
  access_token_expires_at: requestedAt + tokens.expires_in * 1000,
  access_token_lifetime_seconds: tokens.expires_in,
  ...(serverTime === undefined ? {} : { clock_offset_milliseconds: serverTime - requestedAt }),
  refresh_token: tokens.refresh_token,
  idempotency_key: newIdempotencyKey(),
});

/**
 * Makes a session refresh its access token next time, if the stored one is exactly this, which a service refused. False
 * if it is not.
 * @example
 * await expireAccessToken(store, rejected);
 */
export async function expireAccessToken(store: CredentialStore, accessToken: string): Promise<boolean> {
  const stored = await store.read();
  if (!stored || stored.kind === 'key' || stored.access_token !== accessToken) return false;
  return store.replace(stored, { ...stored, access_token_expires_at: 0 });
}
