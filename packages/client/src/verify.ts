import { inactive, parseVerification, type Verification } from './active-token.ts';
import { type Api, createApi, serverOrigin } from './api.ts';
import { type Clock, systemClock, unlessAborted } from './clock.ts';
import type { LatchkeyError } from './errors.ts';
import { operations } from './operations.ts';
import { readMetadata, requireOwnIssuer } from './own-address.ts';
import { authorizationOf } from './service-key.ts';
import type { Fetch } from './transport.ts';
import { openFeed } from './verify/feed-reader.ts';
import { isUntouched, keepAnswers, type Question } from './verify/kept-answers.ts';
import { hashOf } from './verify/token-hash.ts';

export interface VerifierOptions {
  /** The origin of the service, like `https://login.example`. */
  readonly server: string;
  /** `id:secret`, as `latchkey-server services create` prints it. */
  readonly serviceKey: string;
  /** What the service calls itself, if `server` is another address of it, such as one inside your network. */
  readonly issuer?: string;
  /** How long results are cached, and so how long a revoked token may still be accepted. 0-60, default 5. */
  readonly cacheSeconds?: number;
  /** Maximum number of cached results; the least recently used is dropped first. Default 10,000. */
  readonly maxEntries?: number;
  /**
   * Keeps results until the service reports that they ended, for services with the right `feed`. While the last report is
   * more than 2 s old, every token is introspected. Without the right, `cacheSeconds` applies to all results.
   */
  readonly feed?: boolean;
  /** Called with each failed try to read the feed. Default: the first of each code goes to standard error. */
  readonly onFeedError?: (error: LatchkeyError) => void;
  readonly timeoutMs?: number;
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
  /** The time since the last moment up to which every event is known, in milliseconds. Undefined unless following. */
  readonly feedAgeMs: number | undefined;
  /** Results that were kept until the feed ends them, and how many of them it ended. */
  readonly kept: number;
  readonly dropped: number;
  /** Results that are cached or kept at the moment. */
  readonly size: number;
}

/** For services that accept Latchkey's access tokens and keys: tells whether one is active and whose it is. */
export interface Verifier {
  /**
   * Introspects the access token or key, unless a result is cached. Concurrent calls for one token share a request, if it began no longer
   * ago than a result may be cached. A failure is thrown and not cached: treat it as "not verified".
   * @throws {LatchkeyError} `invalid_client` for a wrong service key; `unreachable`, `timeout` and the like
   */
  verify(accessToken: string, options?: { readonly signal?: AbortSignal }): Promise<Verification>;
  /**
   * The public address of the service, which issues the tokens. It is asked once, and must say `issuer`, or `server` without
   * that: nobody is sent to an address that only a response names.
   * @throws {LatchkeyError} `wrong_address` for another one; `not_latchkey`, `unreachable`, `timeout` and the like
   */
  issuer(): Promise<string>;
  /** The time of the service, in milliseconds since 1970: this machine's clock may be wrong. */
  now(): number;
  metrics(): VerifierMetrics;
  /** Stops reading the feed, if there is one. From then on every token is introspected. */
  close(): void;
}

const defaultCacheSeconds = 5;
const maxCacheSeconds = 60;
const defaultMaxEntries = 10_000;
const defaultTimeoutMs = 5_000;
const maxTokenLength = 1024;
/** The `Date` of a response is cut to the second. */
const dateGrainMs = 1000;

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
    timeoutMs = defaultTimeoutMs,
    insecureHttp = false,
    fetch,
    clock = systemClock,
    monotonic = () => performance.now(),
    onFeedError = warnOnce(),
  } = options;
  if (!(cacheSeconds >= 0 && cacheSeconds <= maxCacheSeconds))
    throw new RangeError(`cacheSeconds must be 0-${maxCacheSeconds}.`);
  const authorization = authorizationOf(serviceKey);
  const api = createApi({ server, timeoutMs, insecureHttp, ...(fetch ? { fetch } : {}) });
  /** What the monotonic clock lacks to the time of the service. Undefined until it said its time. */
  let offset: number | undefined;
  let toldTime: number | undefined;
  const now = () => (offset === undefined ? clock.now() : monotonic() + offset);
  const kept = keepAnswers({ maxEntries, now, clock, monotonic });
  const feed = options.feed
    ? openFeed({ api, authorization, timeoutMs, clock, monotonic, kept, onError: onFeedError })
    : undefined;
  const pending = new Map<string, Pending>();
  let asked = 0;
  let reused = 0;
  const issuer = serverOrigin(options.issuer ?? server);
  let isIssuerConfirmed = false;

  /** Whether results are cached for some seconds: with a feed only if the service may not read it. */
  const isTimed = () => feed === undefined || feed.state() === 'refused';
  const isFresh = () => feed?.isFresh() ?? false;

  /** Whether a later caller may have the answer of a question that is under way: not if a kept one would be too old by now. */
  const isShareable = (question: Question): boolean =>
    isTimed() ? kept.ageMs(question) < cacheSeconds * 1000 : isFresh() && isUntouched(question);

  const ask = (token: string, key: string): Pending => {
    asked++;
    const question = kept.ask(feed?.state() === 'following');
    const run = async () => {
      let answer: Verification | undefined;
      try {
        answer = await introspect(api, authorization, token);
        const time = api.serverTime();
        // The time of an earlier answer says nothing about now.
        if (time !== undefined && time !== toldTime) offset = time + dateGrainMs - monotonic();
        toldTime = time;
        return answer;
      } finally {
        kept.settle(question, key, answer, isTimed() ? cacheSeconds : undefined);
        if (pending.get(key)?.question === question) pending.delete(key);
      }
    };
    const started = { result: run(), question };
    pending.set(key, started);
    return started;
  };

  return {
    verify: async (accessToken, { signal } = {}) => {
      // Another service's secret that was sent here by mistake must not be forwarded.
      if (!/^lk_a[tk]_[\w-]+$/.test(accessToken) || accessToken.length > maxTokenLength) return inactive;
      feed?.use();
      const key = await hashOf(accessToken);
      const known = isTimed() || isFresh() ? kept.get(key) : undefined;
      if (known) {
        reused++;
        return known;
      }
      const shared = pending.get(key);
      const { result } = shared && isShareable(shared.question) ? shared : ask(accessToken, key);
      return unlessAborted(result, signal);
    },
    issuer: async () => {
      if (isIssuerConfirmed) return issuer;
      const metadata = await readMetadata(api);
      requireOwnIssuer(issuer, metadata.issuer, 'If that is right, set the issuer of the verifier.');
      isIssuerConfirmed = true;
      return issuer;
    },
    now,
    metrics: () => ({
      asked,
      reused,
      feed: feed?.state() ?? 'off',
      feedAgeMs: feed?.state() === 'following' ? feed.ageMs() : undefined,
      ...kept.counts(),
    }),
    close: () => feed?.close(),
  };
}

interface Pending {
  readonly result: Promise<Verification>;
  readonly question: Question;
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

async function introspect(api: Api, authorization: string, token: string): Promise<Verification> {
  const { body } = await api.send(operations.introspect.path, {
    method: 'POST',
    headers: { Authorization: authorization, Accept: 'application/json' },
    body: new URLSearchParams({ token, token_type_hint: 'access_token' }),
  });
  return parseVerification(body);
}
