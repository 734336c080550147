import { existsSync } from 'node:fs';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { postgresServers } from '../database/postgres-primary.ts';
import { sqlitePathOf } from '../database/sqlite.ts';
import type { Quota, RateLimitName, RateLimitRules } from '../rate-limits/limiter.ts';
import { isLoopbackHost } from '../values/loopback.ts';
import { ConfigError } from './config-error.ts';
import type { Environment } from './environment.ts';
import { defaultSender, readProduct } from './product.ts';
import { type ConfigOf, platformSettings, readSettings, type Settings } from './settings.ts';

/** The settings of the platform, and what follows from them. */
type PlatformConfig = ReturnType<typeof platformConfigOf>;

/** All checked settings. `settings.ts` above adds those of the capabilities. */
export interface Config extends Readonly<PlatformConfig> {}

/** Reads the platform's settings and those declared. @throws {ConfigError} names the first invalid one */
export function readConfigOf(env: Environment, declared: Settings, rules: RateLimitRules): Config {
  const s = readSettings(platformSettings, env);
  const values = readSettings(declared, env) as Omit<Config, keyof PlatformConfig>;
  return Object.freeze({ ...platformConfigOf(s, rules), ...values });
}

/** @throws {ConfigError} */
function platformConfigOf(s: ConfigOf<typeof platformSettings>, rules: RateLimitRules) {
  const baseUrl = s.baseUrl ?? `http://localhost:${s.port}`;
  const { hostname, protocol } = new URL(baseUrl);
  const isLocal = isLoopbackHost(hostname);
  if (protocol === 'http:' && !isLocal && !s.insecureHttp) {
    throw new ConfigError(
      'LATCHKEY_BASE_URL must be https, unless its host is a loopback address or LATCHKEY_INSECURE_HTTP is on.',
    );
  }
  const rpId = s.rpId ?? hostname;
  const hasIpHost = isIP(hostname.replace(/^\[|\]$/g, '')) !== 0;
  // A name without a dot is a public suffix, for which no browser makes passkeys.
  if (rpId !== hostname && (hasIpHost || !rpId.includes('.') || !hostname.endsWith(`.${rpId}`))) {
    throw new ConfigError(
      `LATCHKEY_RP_ID must be ${hostname}, the host of LATCHKEY_BASE_URL, or a parent domain of it.`,
    );
  }
  if (s.databaseDirectUrl !== undefined && sqlitePathOf(s.databaseUrl) !== undefined) {
    throw new ConfigError(
      'LATCHKEY_DATABASE_DIRECT_URL is for PostgreSQL, but DATABASE_URL is a SQLite file.',
    );
  }
  const databaseUrl = s.databaseUrl.replace(/^sqlite:\/\//, 'sqlite:');
  const file = sqliteFileOf({ databaseUrl });
  // Only a directory is found with a slash behind its name.
  if (file !== undefined && existsSync(`${file}/`))
    throw new ConfigError(`DATABASE_URL must name a file, but ${file} is a directory.`);
  const product = readProduct(s);
  return {
    ...s,
    databaseUrl,
    /** Origin of the public address, without a trailing slash. */
    baseUrl,
    https: protocol === 'https:',
    /** The host of the public address is a loopback one: this is development. */
    isLocal,
    /** Browsers offer passkeys only for domain names. */
    hasPasskeys: !hasIpHost,
    rpId,
    mailFrom: s.mailFrom ?? defaultSender(product),
    product,
    /** Serve mails at /dev/mailbox. */
    devMailbox: s.smtpUrl === undefined && isLoopbackHost(s.host) && isLocal,
    rateLimitsEnabled: s.rateLimits.enabled,
    rateLimitQuotas: quotasOf(s.rateLimits.quotas, rules),
  };
}

/** @throws {ConfigError} for a limit that does not exist */
function quotasOf(
  changed: ReadonlyMap<string, Quota>,
  rules: RateLimitRules,
): Readonly<Record<RateLimitName, Quota>> {
  const unknown = [...changed.keys()].find((name) => !Object.hasOwn(rules, name));
  if (unknown !== undefined) {
    throw new ConfigError(
      `LATCHKEY_RATE_LIMITS has no limit ${unknown}. The limits are ${Object.keys(rules).join(', ')}.`,
    );
  }
  const quotas = Object.entries<Quota>(rules).map(([name, { quota, windowSeconds }]) => [
    name,
    changed.get(name) ?? { quota, windowSeconds },
  ]);
  return Object.fromEntries(quotas);
}

/** The absolute path of the database file; undefined with PostgreSQL. */
export function sqliteFileOf({ databaseUrl }: Pick<Config, 'databaseUrl'>): string | undefined {
  const path = sqlitePathOf(databaseUrl);
  return path === undefined ? undefined : resolve(path);
}

/** The URL that commands use, without user and password: `sqlite:` with the absolute path, or `postgres://…`. */
export function storeNameOf(config: Config): string {
  const file = sqliteFileOf(config);
  if (file !== undefined) return `sqlite:${file}`;
  const urls = postgresServers(config.databaseDirectUrl ?? config.databaseUrl).map((url) => URL.parse(url));
  const hosts = urls.map((url) => url?.host ?? '').filter(Boolean);
  return hosts.length > 0 ? `postgres://${hosts.join(',')}${urls[0]?.pathname ?? ''}` : 'PostgreSQL';
}
