import type { ProfileField } from '@latchkey/contract/account';
import type { ServiceRight } from '@latchkey/contract/scopes';
import type { GrantParameters } from '@latchkey/contract/tokens';
import type { Config } from './config/config.ts';
import type { KeyRing, LogKeys, Random } from './crypto/primitives.ts';
import type { Database } from './database/executor.ts';
import type { Tables } from './database/schema.ts';
import type { RateLimiter } from './rate-limits/limiter.ts';
import type { Log } from './telemetry/log.ts';
import type { Metrics } from './telemetry/metrics.ts';
import type { Timers } from './timers.ts';
import type { ClientInfo } from './values/client-address.ts';

/** Milliseconds since 1970. */
export type Clock = () => number;

/** All dependencies of a use case besides its arguments. Built once, in `operator/run.ts`, and passed on. */
export interface Context {
  readonly config: Config;
  readonly db: Database;
  readonly keys: KeyRing;
  /** The key ring and its retired keys, for the security log only. */
  readonly logKeys: LogKeys;
  readonly clock: Clock;
  /** For waiting, and for how long something takes: `clock` may jump. */
  readonly timers: Timers;
  readonly random: Random;
  readonly limiter: RateLimiter;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Tells the mail worker that there is new mail in the outbox. */
  readonly wakeMailWorker: () => void;
  /** Aborted when the process is asked to stop: a request that waits for something is answered now. */
  readonly stopping: AbortSignal;
}

/** What the profile of a caller shows. */
export type CallerAccount = Pick<
  Tables['users'],
  ProfileField | 'id' | 'email' | 'email_verified' | 'revision' | 'created_at' | 'updated_at'
>;

/** The session behind the credential of a request, and its user. */
export interface Caller {
  readonly sessionId: string;
  readonly userId: string;
  /** The account as it was when the credential was checked. */
  readonly account: CallerAccount;
  readonly kind: 'browser' | 'device' | 'app' | 'key' | 'run';
  /** Scope names separated by spaces, or `*` for everything the user may do. */
  readonly scope: string;
  /** The only service that accepts the credential, if any. */
  readonly resource: string | null;
  /** When the user signed in, in milliseconds since 1970. */
  readonly authenticatedAt: number;
  readonly credential: 'bearer' | 'cookie';
  /** The new value of a session cookie whose lifetime was extended or whose key was rotated. */
  readonly renewedCookie: string | undefined;
}

/** Who makes a request, and where it comes from. */
export interface Requester {
  readonly caller: Caller;
  readonly client: ClientInfo;
}

/** The key of a service as it was sent, not verified. Both are empty where what was sent is malformed. */
export interface SentServiceKey {
  readonly id: string;
  readonly secret: string;
}

/** A request for tokens, as its grant gets it. */
export interface TokenRequest {
  readonly client: ClientInfo;
  readonly serviceKey: SentServiceKey | undefined;
  readonly idempotencyKey: string | undefined;
  readonly isForm?: true;
  readonly body: GrantParameters;
}

/** The service whose key authenticated a request. */
export interface CallingService {
  readonly id: string;
  readonly name: string;
  readonly rights: readonly ServiceRight[];
  /** The URI that tokens for this service are bound to. */
  readonly resource: string | null;
  /** The resources of other services that it may ask tokens for. */
  readonly reach: readonly string[];
}

/** How long a client is willing to wait for its response. @see RFC 7240 section 4.3 */
export interface WaitPreference {
  readonly seconds: number;
  /** Aborted when the client closes its connection. */
  readonly clientGone: AbortSignal;
}
