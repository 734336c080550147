import { inactive, parseVerification, type Verification } from './active-token.ts';
import { type Api, createApi } from './api.ts';
import { type Clock, systemClock, unlessAborted } from './clock.ts';
import { operations } from './operations.ts';
import type { Fetch } from './transport.ts';

export interface VerifierOptions {
  /** The origin of the service, like `https://login.example`. */
  readonly server: string;
  /** `id:secret`, as `latchkey-server services create` prints it. */
  readonly serviceKey: string;
  /** How long results are cached, and so how long a revoked token may still be accepted. 0-60, default 5. */
  readonly cacheSeconds?: number;
  /** Maximum number of cached results; the least recently used is dropped first. Default 10,000. */
  readonly maxEntries?: number;
  readonly timeoutMilliseconds?: number;
  /** Allows plain http to another machine, which exposes tokens and the service key to the network. */
  readonly insecureHttp?: boolean;
  readonly fetch?: Fetch;
  readonly clock?: Clock;
}

/** For services that accept Latchkey's access tokens and keys: tells whether one is active and whose it is. */
export interface Verifier {
  /**
   * Introspects the access token or key, unless a result is cached. Concurrent calls for one token share a request. A
   * failure is thrown and not cached: treat it as "not verified".
   * @throws {LatchkeyError} `invalid_client` for a wrong service key; `unreachable`, `timeout` and the like
   */
  verify(accessToken: string, options?: { readonly signal?: AbortSignal }): Promise<Verification>;
}

const defaultCacheSeconds = 5;
const maxCacheSeconds = 60;
const defaultMaxEntries = 10_000;
const defaultTimeoutMilliseconds = 5_000;
const maxTokenLength = 1024;

/** A verifier with a cache and connection settings of its own: create one per process. */
export function createVerifier({
  server,
  serviceKey,
  cacheSeconds = defaultCacheSeconds,
  maxEntries = defaultMaxEntries,
  timeoutMilliseconds = defaultTimeoutMilliseconds,
  insecureHttp = false,
  fetch,
  clock = systemClock,
}: VerifierOptions): Verifier {
  if (!(cacheSeconds >= 0 && cacheSeconds <= maxCacheSeconds))
    throw new RangeError(`cacheSeconds must be 0-${maxCacheSeconds}.`);
  if (!/^[\x21-\x39\x3b-\x7e]+:[\x21-\x7e]+$/.test(serviceKey))
    throw new TypeError('A service key looks like id:secret.');
  const api = createApi({ server, timeoutMilliseconds, insecureHttp, ...(fetch ? { fetch } : {}) });
  const cache = createCache({ cacheSeconds, maxEntries, clock });
  const pending = new Map<string, Promise<Verification>>();

  const introspectAndCache = async (token: string, key: string): Promise<Verification> => {
    const result = await introspect(api, serviceKey, token);
    cache.set(key, result);
    return result;
  };

  return {
    verify: async (accessToken, { signal } = {}) => {
      // Another service's secret that was sent here by mistake must not be forwarded.
      if (!/^lk_a[tk]_[\w-]+$/.test(accessToken) || accessToken.length > maxTokenLength) return inactive;
      const key = await hashOf(accessToken);
      const cached = cache.get(key);
      if (cached) return cached;
      let result = pending.get(key);
      if (!result) {
        result = introspectAndCache(accessToken, key).finally(() => pending.delete(key));
        pending.set(key, result);
      }
      return unlessAborted(result, signal);
    },
  };
}

async function introspect(api: Api, serviceKey: string, token: string): Promise<Verification> {
  const { body } = await api.send(operations.introspect.path, {
    method: 'POST',
    headers: { Authorization: `Basic ${btoa(serviceKey)}`, Accept: 'application/json' },
    body: new URLSearchParams({ token, token_type_hint: 'access_token' }),
  });
  return parseVerification(body);
}

interface CacheEntry {
  readonly result: Verification;
  readonly from: number;
  readonly until: number;
}

/** Results by the hash of the token, so that a memory dump reveals no tokens. Least recently used first. */
function createCache({
  cacheSeconds,
  maxEntries,
  clock,
}: Required<Pick<VerifierOptions, 'cacheSeconds' | 'maxEntries' | 'clock'>>) {
  const entries = new Map<string, CacheEntry>();
  return {
    set(key: string, result: Verification): void {
      const from = clock.now();
      const lasts = from + cacheSeconds * 1000;
      const until = result.active ? Math.min(lasts, result.exp * 1000) : lasts;
      entries.delete(key);
      if (until <= from) return;
      entries.set(key, { result, from, until });
      const oldest = entries.size > maxEntries ? entries.keys().next().value : undefined;
      if (oldest !== undefined) entries.delete(oldest);
    },
    get(key: string): Verification | undefined {
      const entry = entries.get(key);
      if (!entry) return undefined;
      const now = clock.now();
      // Without `from`, setting the clock back would extend the entry.
      const isValid = entry.from <= now && now < entry.until;
      entries.delete(key);
      if (!isValid) return undefined;
      entries.set(key, entry);
      return entry.result;
    },
  };
}

async function hashOf(token: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(token));
  return String.fromCharCode(...new Uint8Array(digest));
}
