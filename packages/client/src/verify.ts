import { inactive, parseVerification, type Verification } from './active-token.ts';
import { type Api, createApi } from './api.ts';
import { type Clock, systemClock, unlessAborted } from './clock.ts';
import type { LatchkeyError } from './errors.ts';
import { readMetadata } from './metadata.ts';
import { operations } from './operations.ts';
import { authorizationOf } from './service-key.ts';
import type { Fetch } from './transport.ts';
import { SecondsCache } from './verify/cache.ts';
import { Feed } from './verify/feed.ts';
import { isShareable, KeptAnswers, type Question } from './verify/kept-answers.ts';
import { hashOf } from './verify/token-hash.ts';

export interface VerifierOptions {
  /** The origin of the service, like `https://login.example`. */
  readonly server: string;
  /** `id:secret`, as `latchkey-server services create` prints it. */
  readonly serviceKey: string;
  /** How long results are cached, and so how long a revoked token may still be accepted. 0-60, default 5. */
  readonly cacheSeconds?: number;
  /** Maximum number of cached results; the least recently used is dropped first. Default 10,000. */
  readonly maxEntries?: number;
  /**
   * Keeps results until the service reports that they ended, for services with the right `feed`. While the last report is
   * more than 2 s old, every token is introspected. Without the right, `cacheSeconds` applies to all results.
   */
  readonly feed?: boolean;
  /**
   * Called with each failure to read the feed, for your log. It is tried again. By default the first of each code is written to
   * standard error.
   */
  readonly onFeedError?: (error: LatchkeyError) => void;
  readonly timeoutMilliseconds?: number;
  /** Allows plain http to another machine, which exposes tokens and the service key to the network. */
  readonly insecureHttp?: boolean;
  readonly fetch?: Fetch;
  readonly clock?: Clock;
  /** Milliseconds by a clock that is never set. Default: `performance.now`. */
  readonly monotonic?: () => number;
}

/** What a verifier has done so far, for your metrics. */
export interface VerifierMetrics {
  /** Tokens that were introspected. */
  readonly asked: number;
  /** Results that needed no request. */
  readonly reused: number;
  /** `off` unless the verifier was created with `feed`; `refused` if the service may not read it. */
  readonly feed: 'off' | 'starting' | 'following' | 'refused';
  /** The time since the last moment of which every event is known, in milliseconds. Undefined unless following. */
  readonly feedAgeMilliseconds: number | undefined;
  /** Results that were kept until the feed ends them, and how many of them it ended. */
  readonly kept: number;
  readonly dropped: number;
  /** Kept results at the moment. */
  readonly size: number;
}

/** For services that accept Latchkey's access tokens and keys: tells whether one is active and whose it is. */
export interface Verifier {
  /**
   * Introspects the access token or key, unless a result is cached. Concurrent calls for one token share a request. A
   * failure is thrown and not cached: treat it as "not verified".
   * @throws {LatchkeyError} `invalid_client` for a wrong service key; `unreachable`, `timeout` and the like
   */
  verify(accessToken: string, options?: { readonly signal?: AbortSignal }): Promise<Verification>;
  /**
   * The public address of the service, which issues the tokens. It is asked once.
   * @throws {LatchkeyError} `not_latchkey`, `unreachable`, `timeout` and the like
   */
  issuer(): Promise<string>;
  metrics(): VerifierMetrics;
  /** Stops reading the feed. From then on every token is introspected. */
  close(): void;
}

const defaultCacheSeconds = 5;
const maxCacheSeconds = 60;
const defaultMaxEntries = 10_000;
const defaultTimeoutMilliseconds = 5_000;
const maxTokenLength = 1024;

/**
 * A verifier with a cache and connection settings of its own: create one per process. With `feed` it reads the feed from
 * the first token on, until nothing was verified for a minute.
 * @example
 * const verifier = createVerifier({ server: 'https://login.example', serviceKey: process.env.SERVICE_KEY });
 * const token = await verifier.verify(accessToken);
 * if (token.active) console.log(token.sub);
 */
export function createVerifier(options: VerifierOptions): Verifier {
  const {
    server,
    serviceKey,
    cacheSeconds = defaultCacheSeconds,
    maxEntries = defaultMaxEntries,
    timeoutMilliseconds = defaultTimeoutMilliseconds,
    insecureHttp = false,
    fetch,
    clock = systemClock,
    monotonic = () => performance.now(),
    onFeedError = warnOnce(),
  } = options;
  if (!(cacheSeconds >= 0 && cacheSeconds <= maxCacheSeconds))
    throw new RangeError(`cacheSeconds must be 0-${maxCacheSeconds}.`);
  const authorization = authorizationOf(serviceKey);
  const api = createApi({ server, timeoutMilliseconds, insecureHttp, ...(fetch ? { fetch } : {}) });
  const forSeconds = new SecondsCache({ seconds: cacheSeconds, maxEntries, clock });
  const kept = new KeptAnswers({ maxEntries, clock, monotonic });
  const feed = options.feed
    ? new Feed({
        api,
        authorization,
        timeoutMilliseconds,
        clock,
        monotonic,
        onEvent: (event) => kept.apply(event),
        onGap: () => kept.dropAll(),
        onError: onFeedError,
      })
    : undefined;
  const ask = (token: string) => introspect(api, authorization, token);
  const verifier = new CachingVerifier({ ask, forSeconds, kept, feed });
  let issuer: string | undefined;
  // Functions on their own, which may be passed on.
  return {
    verify: (accessToken, more) => verifier.verify(accessToken, more),
    issuer: async () => {
      issuer ??= (await readMetadata(api)).issuer;
      return issuer;
    },
    metrics: () => verifier.metrics(),
    close: () => verifier.close(),
  };
}

const warnOnce = (): ((error: LatchkeyError) => void) => {
  const warned = new Set<string>();
  return ({ code, message }) => {
    if (warned.has(code)) return;
    warned.add(code);
    // biome-ignore lint/suspicious/noConsole: the one channel that every runtime has
    console.error(`Latchkey's feed cannot be read, so tokens are introspected more often: ${message}`);
  };
};

interface VerifierParts {
  readonly ask: (token: string) => Promise<Verification>;
  readonly forSeconds: SecondsCache;
  readonly kept: KeptAnswers;
  readonly feed: Feed | undefined;
}

interface Pending {
  readonly result: Promise<Verification>;
  readonly question: Question;
}

class CachingVerifier implements Omit<Verifier, 'issuer'> {
  readonly #parts: VerifierParts;
  readonly #pending = new Map<string, Pending>();
  #asked = 0;
  #reused = 0;

  constructor(parts: VerifierParts) {
    this.#parts = parts;
  }

  async verify(
    accessToken: string,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<Verification> {
    // Another service's secret that was sent here by mistake must not be forwarded.
    if (!/^lk_a[tk]_[\w-]+$/.test(accessToken) || accessToken.length > maxTokenLength) return inactive;
    this.#parts.feed?.use();
    const hash = hashOf(accessToken);
    const key = typeof hash === 'string' ? hash : await hash;
    const known = this.#known(key);
    if (known) {
      this.#reused++;
      return known;
    }
    const pending = this.#pending.get(key);
    const { result } = pending && isShareable(pending.question) ? pending : this.#ask(accessToken, key);
    return unlessAborted(result, signal);
  }

  metrics(): VerifierMetrics {
    const { feed, kept } = this.#parts;
    return {
      asked: this.#asked,
      reused: this.#reused,
      feed: feed?.state ?? 'off',
      feedAgeMilliseconds: feed?.state === 'following' ? feed.ageMilliseconds : undefined,
      ...kept.counts,
    };
  }

  close(): void {
    this.#parts.feed?.close();
  }

  /** Whether results are cached for some seconds: with a feed only if the service may not read it. */
  get #isTimed(): boolean {
    const { feed } = this.#parts;
    return feed === undefined || feed.state === 'refused';
  }

  #known(key: string): Verification | undefined {
    const { feed, forSeconds, kept } = this.#parts;
    if (this.#isTimed) return forSeconds.get(key);
    return feed?.isFresh ? kept.get(key) : undefined;
  }

  #ask(accessToken: string, key: string): Pending {
    const { ask, feed, forSeconds, kept } = this.#parts;
    this.#asked++;
    const question = kept.ask(feed?.state === 'following');
    const run = async () => {
      let answer: Verification | undefined;
      try {
        answer = await ask(accessToken);
        if (this.#isTimed) forSeconds.set(key, answer);
        return answer;
      } finally {
        kept.settle(question, key, answer);
        if (this.#pending.get(key)?.question === question) this.#pending.delete(key);
      }
    };
    const pending = { result: run(), question };
    this.#pending.set(key, pending);
    return pending;
  }
}

async function introspect(api: Api, authorization: string, token: string): Promise<Verification> {
  const { body } = await api.send(operations.introspect.path, {
    method: 'POST',
    headers: { Authorization: authorization, Accept: 'application/json' },
    body: new URLSearchParams({ token, token_type_hint: 'access_token' }),
  });
  return parseVerification(body);
}
