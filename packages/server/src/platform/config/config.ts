import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { type Quota, type RateLimitName, rateLimitNames, rateLimitSetting } from '../rate-limits/rules.ts';
import type { LogLevel } from '../telemetry/log.ts';
import type { CidrRange } from '../values/client-address.ts';
import { isLoopbackHost } from '../values/loopback.ts';
import { postgresServers } from '../values/postgres-url.ts';
import { ConfigError } from './config-error.ts';
import { type Environment, processEnvironment } from './environment.ts';
import { defaultSender, type Product, readProduct } from './product.ts';
import { rateLimitSettings, readSetting, readSettings, settingNames } from './settings.ts';

/** The checked settings. `settings.ts` describes each of them. Durations carry their unit in the name. */
export interface Config {
  readonly host: string;
  readonly port: number;
  readonly databaseUrl: string;
  /** The database without a pooler. */
  readonly databaseDirectUrl: string | undefined;
  /** Whether connections keep prepared statements. */
  readonly databasePrepare: boolean;
  /** Connections of one process to PostgreSQL, besides the one that listens. */
  readonly databasePool: number;
  /** Processes that share the port. */
  readonly workers: number;
  /** Origin of the public address, without a trailing slash. */
  readonly baseUrl: string;
  readonly https: boolean;
  /** The host of the public address is a loopback one: this is development. */
  readonly isLocal: boolean;
  readonly rpId: string;
  readonly allowedOrigins: readonly string[];
  /** Hosts, some with a port, whose programs describe themselves as OAuth clients. */
  readonly clientHosts: readonly string[];
  readonly trustedProxies: readonly CidrRange[];
  readonly smtpUrl: string | undefined;
  readonly mailFrom: string;
  readonly product: Product;
  /** Serve mails at /dev/mailbox. True only without an SMTP server and if host and base URL are loopback addresses. */
  readonly devMailbox: boolean;
  readonly signup: 'open' | 'closed' | readonly string[];
  readonly rateLimitsEnabled: boolean;
  readonly rateLimitQuotas: Readonly<Record<RateLimitName, Quota>>;
  readonly logLevel: LogLevel;
  readonly metricsToken: string | undefined;
  readonly accessTokenTtlSeconds: number;
  readonly refreshIdleTtlSeconds: number;
  readonly sessionTtlSeconds: number;
  readonly deviceCodeTtlSeconds: number;
  readonly devicePollIntervalSeconds: number;
  readonly magicLinkTtlSeconds: number;
  readonly emailCodeTries: number;
  readonly emailChangeTtlSeconds: number;
  readonly recentLoginTtlSeconds: number;
  readonly challengeTtlSeconds: number;
  readonly passkeysPerUser: number;
  readonly refreshReuseLeewaySeconds: number;
  readonly runIdleTtlSeconds: number;
  readonly runTtlSeconds: number;
  readonly feedWaitSeconds: number;
  readonly eventRetentionSeconds: number;
}

/**
 * Reads and checks the settings. An empty variable counts as not set.
 * @throws {ConfigError} naming the first setting that is not valid
 */
export function readConfig(env: Environment = processEnvironment): Config {
  const s = readSettings(env);
  const rateLimitQuotas = Object.fromEntries(
    rateLimitNames.map((name) => [name, readSetting(rateLimitSetting(name), rateLimitSettings[name], env)]),
  ) as Record<RateLimitName, Quota>;
  const baseUrl = (s.LATCHKEY_BASE_URL ?? `http://localhost:${s.PORT}`).replace(/\/$/, '').toLowerCase();
  const { hostname, protocol } = new URL(baseUrl);
  const isLocal = isLoopbackHost(hostname);
  if (protocol === 'http:' && !isLocal && s.LATCHKEY_INSECURE_HTTP === 'off') {
    throw new ConfigError(
      'LATCHKEY_BASE_URL must be https, unless its host is a loopback address or LATCHKEY_INSECURE_HTTP is on.',
    );
  }
  const rpId = s.LATCHKEY_RP_ID ?? hostname;
  if (rpId !== hostname && !hostname.endsWith(`.${rpId}`)) {
    throw new ConfigError(
      `LATCHKEY_RP_ID must be ${hostname}, the host of LATCHKEY_BASE_URL, or a parent domain of it.`,
    );
  }
  if (s.LATCHKEY_REFRESH_IDLE_TTL > s.LATCHKEY_SESSION_TTL && env['LATCHKEY_REFRESH_IDLE_TTL']?.trim()) {
    throw new ConfigError('LATCHKEY_REFRESH_IDLE_TTL must not be longer than LATCHKEY_SESSION_TTL.');
  }
  const product = readProduct(s);
  const databaseUrl = s.DATABASE_URL.replace(/^sqlite:\/\//, 'sqlite:');
  return Object.freeze({
    host: s.HOST,
    port: s.PORT,
    databaseUrl,
    databaseDirectUrl: s.LATCHKEY_DATABASE_DIRECT_URL,
    databasePrepare: s.LATCHKEY_DATABASE_PREPARE === 'on',
    databasePool: s.LATCHKEY_DATABASE_POOL,
    workers: readWorkers(s.LATCHKEY_WORKERS, databaseUrl),
    baseUrl,
    https: protocol === 'https:',
    isLocal,
    rpId,
    allowedOrigins: s.LATCHKEY_ALLOWED_ORIGINS,
    clientHosts: s.LATCHKEY_CLIENT_HOSTS,
    trustedProxies: s.LATCHKEY_TRUSTED_PROXIES,
    smtpUrl: s.LATCHKEY_SMTP_URL,
    mailFrom: s.LATCHKEY_MAIL_FROM ?? defaultSender(product),
    product,
    devMailbox: s.LATCHKEY_SMTP_URL === undefined && isLoopbackHost(s.HOST) && isLocal,
    signup: s.LATCHKEY_SIGNUP,
    rateLimitsEnabled: s.LATCHKEY_RATE_LIMITS === 'on',
    rateLimitQuotas,
    logLevel: s.LATCHKEY_LOG_LEVEL,
    metricsToken: s.LATCHKEY_METRICS_TOKEN,
    accessTokenTtlSeconds: s.LATCHKEY_ACCESS_TOKEN_TTL,
    refreshIdleTtlSeconds: s.LATCHKEY_REFRESH_IDLE_TTL,
    sessionTtlSeconds: s.LATCHKEY_SESSION_TTL,
    deviceCodeTtlSeconds: s.LATCHKEY_DEVICE_CODE_TTL,
    devicePollIntervalSeconds: s.LATCHKEY_DEVICE_POLL_INTERVAL,
    magicLinkTtlSeconds: s.LATCHKEY_MAGIC_LINK_TTL,
    emailCodeTries: s.LATCHKEY_EMAIL_CODE_TRIES,
    emailChangeTtlSeconds: s.LATCHKEY_EMAIL_CHANGE_TTL,
    recentLoginTtlSeconds: s.LATCHKEY_RECENT_LOGIN_TTL,
    challengeTtlSeconds: s.LATCHKEY_CHALLENGE_TTL,
    passkeysPerUser: s.LATCHKEY_PASSKEYS_PER_USER,
    refreshReuseLeewaySeconds: s.LATCHKEY_REFRESH_REUSE_LEEWAY,
    runIdleTtlSeconds: s.LATCHKEY_RUN_IDLE_TTL,
    runTtlSeconds: s.LATCHKEY_RUN_TTL,
    feedWaitSeconds: s.LATCHKEY_FEED_WAIT,
    eventRetentionSeconds: s.LATCHKEY_EVENT_RETENTION,
  });
}

/** @throws {ConfigError} where several processes cannot serve one database or share a port */
function readWorkers(wanted: number | 'auto', databaseUrl: string): number {
  const isSqlite = databaseUrl.startsWith('sqlite:');
  const canBeMany = !isSqlite && process.platform === 'linux';
  if (wanted === 'auto') return canBeMany ? availableParallelism() : 1;
  if (wanted === 1 || canBeMany) return wanted;
  throw new ConfigError(
    isSqlite
      ? 'LATCHKEY_WORKERS must be 1 with SQLite, which has one writer and counts rate limits in the memory of its process. More workers need PostgreSQL.'
      : 'LATCHKEY_WORKERS must be 1 on this system: only Linux spreads the connections of a port over several processes.',
  );
}

/** Variables that start with `LATCHKEY_` but are not settings: probably misspelled. */
export const unknownSettings = (env: Environment = processEnvironment): string[] =>
  Object.keys(env).filter((name) => name.startsWith('LATCHKEY_') && !settingNames.has(name));

/** The database URL without user and password: `sqlite:` with the absolute path, or `postgres://…`. */
export function storeNameOf({ databaseUrl }: Config): string {
  if (databaseUrl.startsWith('sqlite:')) return `sqlite:${resolve(databaseUrl.slice('sqlite:'.length))}`;
  const urls = postgresServers(databaseUrl).map((url) => URL.parse(url));
  const hosts = urls.map((url) => url?.host ?? '').filter(Boolean);
  return hosts.length > 0 ? `postgres://${hosts.join(',')}${urls[0]?.pathname ?? ''}` : 'PostgreSQL';
}
