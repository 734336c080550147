import type { Logger } from 'pino';
import type { Config } from './config/config.ts';
import type { KeyRing, LogKeys } from './crypto/key-ring.ts';
import type { Random } from './crypto/random.ts';
import type { Database } from './database/executor.ts';
import type { RateLimiter } from './rate-limits/limiter.ts';
import type { Metrics } from './telemetry/metrics.ts';

/** Milliseconds since 1970. */
export type Clock = () => number;

/** Everything a use case may touch besides its arguments. Built once in `main.ts`, passed explicitly. */
export interface Context {
  readonly config: Config;
  readonly db: Database;
  readonly keys: KeyRing;
  /** The ring and the keys that left it: for the security log, and nothing else. */
  readonly logKeys: LogKeys;
  readonly clock: Clock;
  readonly random: Random;
  readonly limiter: RateLimiter;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** Tells the mail worker that something was put into the outbox. */
  readonly wakeMailWorker: () => void;
}

/** Who is calling: the session behind the presented credential, and its user. */
export interface Caller {
  readonly sessionId: string;
  readonly userId: string;
  readonly kind: 'browser' | 'device';
  /** When the person last proved who they are. */
  readonly authenticatedAt: number;
  readonly credential: 'bearer' | 'cookie';
  /** A cookie that should be set again: its life or its key has moved on. */
  readonly renewedCookie: string | undefined;
}

/** A sibling service of the platform that presented its key. */
export interface CallingService {
  readonly id: string;
}
