import { createApi } from './api.ts';
import { type Clock, systemClock, unlessAborted } from './clock.ts';
import { LatchkeyError } from './errors.ts';
import type { Fetch } from './transport.ts';

export interface VerifierOptions {
  /** The origin of the service, like `https://login.example`. */
  readonly server: string;
  /** `id:secret`, as `latchkey-server services create` prints it. */
  readonly serviceKey: string;
  /** How long an answer is kept, and so how long a revoked token may still seem good; 0-60, default 5. */
  readonly cacheSeconds?: number;
  /** How many answers are kept at most; the least recently used goes first. Default 10,000. */
  readonly maxEntries?: number;
  readonly timeoutMilliseconds?: number;
  /** Allows plain http to another machine, where anybody on the way can read tokens and the service key. */
  readonly insecureHttp?: boolean;
  readonly fetch?: Fetch;
  readonly clock?: Clock;
}

/** What a token is good for. Members beyond these are the service's own (RFC 7662 section 2.2). */
export interface ActiveToken {
  readonly active: true;
  /** The user. */
  readonly sub: string;
  /** The login. */
  readonly sid: string;
  /** Seconds since 1970. */
  readonly exp: number;
  readonly [member: string]: unknown;
}

export type Verification = { readonly active: false } | ActiveToken;

/** For a service beside Latchkey: says whether an access token that came with a request is good, and whose it is. */
export interface Verifier {
  /**
   * Asks the service, unless it knows; who asks for one token at once shares one question. A failure is never an
   * answer, and is not kept: nobody is let in by it.
   * @throws {LatchkeyError} `invalid_client` for a wrong service key; `unreachable`, `timeout` and their like
   */
  verify(accessToken: string, asking?: { readonly signal?: AbortSignal }): Promise<Verification>;
}

interface CachedAnswer {
  readonly answer: Verification;
  readonly from: number;
  readonly until: number;
}

const defaultCacheSeconds = 5;
const maxCacheSeconds = 60;
const defaultMaxEntries = 10_000;
const defaultTimeoutMilliseconds = 5_000;
const maxToken = 1024;

const inactive: Verification = { active: false };

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
    throw new RangeError(`cacheSeconds is 0-${maxCacheSeconds}`);
  if (!/^[\x21-\x39\x3b-\x7e]+:[\x21-\x7e]+$/.test(serviceKey))
    throw new TypeError('A service key looks like id:secret.');
  const api = createApi({ server, timeoutMilliseconds, insecureHttp, ...(fetch ? { fetch } : {}) });
  const authorization = `Basic ${btoa(serviceKey)}`;
  /** By the hash of the token, least recently used first: what is kept lets nobody in. */
  const kept = new Map<string, CachedAnswer>();
  const underWay = new Map<string, Promise<Verification>>();

  async function ask(token: string, key: string): Promise<Verification> {
    const { body } = await api.send('/api/v1/auth/introspect', {
      method: 'POST',
      headers: { Authorization: authorization, Accept: 'application/json' },
      body: new URLSearchParams({ token, token_type_hint: 'access_token' }),
    });
    const answer = checked(body);
    const from = clock.now();
    const lasts = from + cacheSeconds * 1000;
    keep(key, { answer, from, until: answer.active ? Math.min(lasts, answer.exp * 1000) : lasts });
    return answer;
  }

  function keep(key: string, entry: CachedAnswer): void {
    kept.delete(key);
    if (entry.until <= entry.from) return;
    kept.set(key, entry);
    const oldest = kept.size > maxEntries ? kept.keys().next().value : undefined;
    if (oldest !== undefined) kept.delete(oldest);
  }

  function recall(key: string): Verification | undefined {
    const entry = kept.get(key);
    if (!entry) return undefined;
    const now = clock.now();
    // A clock that was set back would keep an answer for longer than it is good.
    const isGood = entry.from <= now && now < entry.until;
    kept.delete(key);
    if (!isGood) return undefined;
    kept.set(key, entry);
    return entry.answer;
  }

  return {
    verify: async (accessToken, { signal } = {}) => {
      // Another service's secret that came here by mistake goes no further.
      if (!/^lk_at_[\w-]+$/.test(accessToken) || accessToken.length > maxToken) return inactive;
      const key = await hashOf(accessToken);
      const known = recall(key);
      if (known) return known;
      let answer = underWay.get(key);
      if (!answer) {
        answer = ask(accessToken, key).finally(() => underWay.delete(key));
        underWay.set(key, answer);
      }
      return unlessAborted(answer, signal);
    },
  };
}

function checked(body: unknown): Verification {
  const { active, sub, sid, exp, token_use = 'access_token' } = Object(body) as Record<string, unknown>;
  if (active === false || token_use !== 'access_token') return inactive;
  const isWhole =
    active === true && typeof sub === 'string' && typeof sid === 'string' && Number.isFinite(exp);
  if (!isWhole) throw new LatchkeyError('not_latchkey', 'The answer says nothing about the token.');
  return body as ActiveToken;
}

async function hashOf(token: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(token));
  return String.fromCharCode(...new Uint8Array(digest));
}
