import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { fieldLimits as sizes } from '@latchkey/contract/field-limits';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { generateKey, type KeyRing, type LogKeys, parseKeyRing, withRetiredKeys } from './crypto/key-ring.ts';
import {
  type Quota,
  type RateLimitName,
  rateLimitNames,
  rateLimitRules,
  rateLimitSetting,
} from './rate-limits/rules.ts';
import type { CidrRange } from './values/client-address.ts';
import { isLoopbackHost } from './values/loopback.ts';

/** The checked settings. Durations carry their unit in the name. */
export interface Config {
  readonly host: string;
  readonly port: number;
  readonly databaseUrl: string;
  /** Origin of the public address, without a trailing slash. */
  readonly baseUrl: string;
  readonly https: boolean;
  readonly rpId: string;
  readonly allowedOrigins: readonly string[];
  readonly trustedProxies: readonly CidrRange[];
  readonly smtpUrl: string | undefined;
  readonly mailFrom: string;
  /** Mails can be read at /dev/mailbox: only without an SMTP server, where host and base URL are loopback ones. */
  readonly devMailbox: boolean;
  readonly signup: 'open' | 'closed' | readonly string[];
  readonly rateLimitsEnabled: boolean;
  readonly rateLimitQuotas: Readonly<Record<RateLimitName, Quota>>;
  /** Who presents it may read the metrics from anywhere; without it they are read from this machine only. */
  readonly metricsToken: string | undefined;
  readonly accessTokenTtlSeconds: number;
  readonly refreshIdleTtlSeconds: number;
  readonly sessionTtlSeconds: number;
  readonly deviceCodeTtlSeconds: number;
  readonly devicePollIntervalSeconds: number;
  readonly magicLinkTtlSeconds: number;
  /** How many times the code of a mail may be tried; the link of the same mail lives on. */
  readonly emailCodeTries: number;
  readonly emailChangeTtlSeconds: number;
  readonly recentLoginTtlSeconds: number;
  /** How long a passkey ceremony may take; the browser is told the same. */
  readonly challengeTtlSeconds: number;
  /** In one account; one more is a `conflict`. */
  readonly passkeysPerUser: number;
  readonly refreshReuseLeewaySeconds: number;
  /** How long events stay in the security log. */
  readonly eventRetentionSeconds: number;
}

/** A setting that cannot be used. The message is one sentence that names it. */
export class ConfigError extends Error {}

const day = 86_400;
const maxTtlSeconds = 10 * 365 * day;

const seconds = (defaultValue: number, least: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, `must be whole seconds from ${least} to ${most}`)
    .transform(Number)
    .pipe(z.int().min(least, `must be at least ${least} s`).max(most, `must be at most ${most} s`))
    .default(defaultValue);

const count = (defaultValue: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, `must be a whole number from 1 to ${most}`)
    .transform(Number)
    .pipe(z.int().min(1, 'must be at least 1').max(most, `must be at most ${most}`))
    .default(defaultValue);

/** Guesses at one code; far fewer than the 20^8 codes there are. */
const maxCodeTries = 100;
const maxQuota = 1_000_000;
/** The shortest window: far longer than the clocks of two nodes differ. */
const minWindowSeconds = 10;
const maxWindowSeconds = day;

const quota = ({ quota, windowSeconds }: Quota) =>
  z
    .string()
    .regex(/^\d{1,7}\/\d{1,5}$/, 'must be a number and seconds, like 5/900')
    .transform((text): Quota => {
      const [count, window] = text.split('/').map(Number);
      return { quota: count!, windowSeconds: window! };
    })
    .refine(
      (value) => value.quota >= 1 && value.quota <= maxQuota,
      `must allow at least 1 and at most ${maxQuota}`,
    )
    .refine(
      ({ windowSeconds }) => windowSeconds >= minWindowSeconds && windowSeconds <= maxWindowSeconds,
      `must have a window of ${minWindowSeconds} to ${maxWindowSeconds} s`,
    )
    .default({ quota, windowSeconds });

const list = (text: string): string[] =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');

const isOrigin = (text: string): boolean => {
  const url = URL.parse(text);
  return (
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    !url.hostname.includes('*') &&
    url.origin === text.replace(/\/$/, '').toLowerCase()
  );
};

const parseRange = (text: string): CidrRange => {
  if (text.includes('/')) return ipaddr.parseCIDR(text);
  if (!text.includes(':') && !ipaddr.IPv4.isValidFourPartDecimal(text)) throw new Error('not an address');
  const address = ipaddr.process(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
};

/** Turns a parsing function's failure into a sentence of the setting. */
const parsedBy =
  <T>(parse: (text: string) => T, otherwise: string) =>
  (text: string, ctx: z.RefinementCtx): T => {
    try {
      return parse(text);
    } catch {
      ctx.addIssue({ code: 'custom', message: otherwise });
      return z.NEVER;
    }
  };

const mailDomain = /^(?=.{1,253}$)[a-z0-9-]+(\.[a-z0-9-]+)+$/;

const settings = z.object({
  PORT: z
    .string()
    .regex(/^\d{1,5}$/, 'must be a port, 1-65535')
    .transform(Number)
    .pipe(z.int().min(1, 'must be a port, 1-65535').max(65_535, 'must be a port, 1-65535'))
    .default(8787),
  HOST: z.string().default('127.0.0.1'),
  DATABASE_URL: z
    .string()
    .regex(
      /^(sqlite:(?!:memory:).+|postgres(ql)?:\/\/.+)$/,
      'must be sqlite: with the path of a file, or a postgres:// URL',
    )
    .default('sqlite:data/latchkey.db'),
  LATCHKEY_BASE_URL: z
    .string()
    .refine(isOrigin, 'must be an http or https address without a path')
    .optional(),
  LATCHKEY_SMTP_URL: z
    .string()
    .refine(
      (text) => /^smtps?:\/\/./.test(text) && !!URL.parse(text)?.hostname,
      'must be an smtp:// or smtps:// URL',
    )
    // The mail library reads its own options from a query, among them those that turn off TLS.
    .refine((text) => !/[?#]/.test(text), 'must not have a query')
    .optional(),
  LATCHKEY_MAIL_FROM: z
    .string()
    .regex(
      /^([^<>\r\n]*<[^<>\s@]+@[^<>\s@]+>|[^<>\s@]+@[^<>\s@]+)$/,
      'must be a mail address, like Name <a@example.com>',
    )
    .default('Latchkey <no-reply@localhost>'),
  LATCHKEY_SIGNUP: z
    .string()
    .transform((text) => (text === 'open' || text === 'closed' ? text : list(text.toLowerCase())))
    .refine(
      (value) =>
        typeof value === 'string' || (value.length > 0 && value.every((entry) => mailDomain.test(entry))),
      'must be open, closed or a comma-separated list of mail domains',
    )
    .default('open'),
  LATCHKEY_ALLOWED_ORIGINS: z
    .string()
    .transform((text) => list(text).map((origin) => origin.replace(/\/$/, '').toLowerCase()))
    .refine(
      (origins) => origins.every(isOrigin),
      'must be a comma-separated list of origins, like https://a.example.com',
    )
    .default([]),
  LATCHKEY_RP_ID: z.string().optional(),
  LATCHKEY_TRUSTED_PROXIES: z
    .string()
    .transform(
      parsedBy(
        (text) => list(text).map(parseRange),
        'must be a comma-separated list of addresses or CIDR ranges',
      ),
    )
    .default([]),
  LATCHKEY_INSECURE_HTTP: z.enum(['on', 'off'], 'must be on or off').default('off'),
  LATCHKEY_RATE_LIMITS: z.enum(['on', 'off'], 'must be on or off').default('on'),
  LATCHKEY_METRICS_TOKEN: z
    .string()
    .regex(/^[\x21-\x7e]{16,256}$/, 'must be 16 to 256 printable characters without spaces')
    .optional(),
  LATCHKEY_ACCESS_TOKEN_TTL: seconds(14_400, 1, 30 * day),
  LATCHKEY_REFRESH_IDLE_TTL: seconds(30 * day, 1, maxTtlSeconds),
  LATCHKEY_SESSION_TTL: seconds(180 * day, 1, maxTtlSeconds),
  LATCHKEY_DEVICE_CODE_TTL: seconds(600, 1, day),
  LATCHKEY_DEVICE_POLL_INTERVAL: seconds(5, 1, 300),
  LATCHKEY_MAGIC_LINK_TTL: seconds(900, 1, day),
  LATCHKEY_EMAIL_CODE_TRIES: count(5, maxCodeTries),
  LATCHKEY_EMAIL_CHANGE_TTL: seconds(3600, 1, day),
  LATCHKEY_RECENT_LOGIN_TTL: seconds(900, 1, 30 * day),
  LATCHKEY_CHALLENGE_TTL: seconds(300, 1, day),
  LATCHKEY_PASSKEYS_PER_USER: count(sizes.passkeys, sizes.passkeys),
  LATCHKEY_REFRESH_REUSE_LEEWAY: seconds(10, 0, 600),
  LATCHKEY_EVENT_RETENTION: seconds(400 * day, day, maxTtlSeconds),
});

const limitSettings = z.object(
  Object.fromEntries(rateLimitNames.map((name) => [rateLimitSetting(name), quota(rateLimitRules[name])])),
);

export type Environment = Readonly<Record<string, string | undefined>>;

function checked<S extends z.ZodObject>(schema: S, given: Environment): z.output<S> {
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new ConfigError(`${String(issue?.path[0])} ${issue?.message}.`);
}

const defaultEnvFile = '.env';

/**
 * Adds the settings of a file to the environment, which wins. Without a name it is `.env`, if there is one.
 * @throws {ConfigError} when a file that was named cannot be read
 */
export function readEnvFile(file: string | undefined, env: NodeJS.ProcessEnv = process.env): void {
  let text: string;
  try {
    text = readFileSync(file ?? defaultEnvFile, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (file === undefined && code === 'ENOENT') return;
    throw new ConfigError(
      file === undefined
        ? `The file ${defaultEnvFile} cannot be read: ${code}.`
        : `--env-file ${file} cannot be read: ${code}.`,
    );
  }
  for (const [name, value] of Object.entries(parseEnv(text))) env[name] ??= value;
}

/**
 * Reads and checks the settings. An empty variable counts as not set.
 * @throws {ConfigError} naming the first setting that is wrong
 */
export function readConfig(env: Environment = process.env): Config {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value?.trim()));
  const s = checked(settings, given);
  const quotas = checked(limitSettings, given);
  const baseUrl = (s.LATCHKEY_BASE_URL ?? `http://localhost:${s.PORT}`).replace(/\/$/, '').toLowerCase();
  const { hostname, protocol } = new URL(baseUrl);
  const isLocal = isLoopbackHost(hostname);
  if (protocol === 'http:' && !isLocal && s.LATCHKEY_INSECURE_HTTP === 'off') {
    throw new ConfigError(
      'LATCHKEY_BASE_URL must be https, unless its host is a loopback one, such as localhost, or LATCHKEY_INSECURE_HTTP is on.',
    );
  }
  const rpId = s.LATCHKEY_RP_ID ?? hostname;
  if (rpId !== hostname && !hostname.endsWith(`.${rpId}`)) {
    throw new ConfigError(
      `LATCHKEY_RP_ID must be ${hostname}, the host of LATCHKEY_BASE_URL, or a domain above it.`,
    );
  }
  if (s.LATCHKEY_REFRESH_IDLE_TTL > s.LATCHKEY_SESSION_TTL && given['LATCHKEY_REFRESH_IDLE_TTL']) {
    throw new ConfigError('LATCHKEY_REFRESH_IDLE_TTL must not be longer than LATCHKEY_SESSION_TTL.');
  }
  const rateLimitQuotas = Object.fromEntries(
    rateLimitNames.map((name) => [name, quotas[rateLimitSetting(name)]]),
  ) as Record<RateLimitName, Quota>;
  return Object.freeze({
    host: s.HOST,
    port: s.PORT,
    databaseUrl: s.DATABASE_URL.replace(/^sqlite:\/\//, 'sqlite:'),
    baseUrl,
    https: protocol === 'https:',
    rpId,
    allowedOrigins: s.LATCHKEY_ALLOWED_ORIGINS,
    trustedProxies: s.LATCHKEY_TRUSTED_PROXIES,
    smtpUrl: s.LATCHKEY_SMTP_URL,
    mailFrom: s.LATCHKEY_MAIL_FROM,
    devMailbox: s.LATCHKEY_SMTP_URL === undefined && isLoopbackHost(s.HOST) && isLocal,
    signup: s.LATCHKEY_SIGNUP,
    rateLimitsEnabled: s.LATCHKEY_RATE_LIMITS === 'on',
    rateLimitQuotas,
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
    eventRetentionSeconds: s.LATCHKEY_EVENT_RETENTION,
  });
}

/** Settings that look like ours but are not: probably a slip of the pen. */
export function unknownSettings(env: Environment = process.env): string[] {
  const known = new Set([
    ...Object.keys(settings.shape),
    ...Object.keys(limitSettings.shape),
    'LATCHKEY_KEYS',
    'LATCHKEY_RETIRED_KEYS',
    'LATCHKEY_SERVER',
    'LATCHKEY_CREDENTIALS',
  ]);
  return Object.keys(env).filter((name) => name.startsWith('LATCHKEY_') && !known.has(name));
}

/** Whether npx runs this process, by a shell of its own. */
export const isRunByNpx = (env: Environment = process.env): boolean => env['npm_lifecycle_event'] === 'npx';

/** The store that the settings name, without user and password: `sqlite:` with the whole path, or `postgres://…`. */
export function storeNameOf({ databaseUrl }: Config): string {
  if (databaseUrl.startsWith('sqlite:')) return `sqlite:${resolve(databaseUrl.slice('sqlite:'.length))}`;
  const url = URL.parse(databaseUrl);
  return url ? `postgres://${url.host}${url.pathname}` : 'PostgreSQL';
}

/** Where the keys of a service on SQLite lie when none are set. */
export function keyFilePath(config: Config): string {
  const database = config.databaseUrl.slice('sqlite:'.length);
  return `${(isAbsolute(database) ? database : resolve(database)).replace(/\.db$/, '')}.keys`;
}

/** Whether the key ring is set rather than kept in a file. */
export const hasConfiguredKeys = (env: Environment = process.env): boolean => !!env['LATCHKEY_KEYS']?.trim();

/**
 * The key ring: `LATCHKEY_KEYS`, or with SQLite a file of mode 0600 beside the database. With `make`, as at the first
 * start, that file is made where there is none.
 * @throws {ConfigError} when there is no key or it cannot be used
 */
export function readKeys(
  config: Config,
  { make, env = process.env }: { make: boolean; env?: Environment },
): KeyRing {
  const given = env['LATCHKEY_KEYS']?.trim();
  if (given) return checkedKeys('LATCHKEY_KEYS', () => parseKeyRing(given));
  if (!config.databaseUrl.startsWith('sqlite:')) {
    throw new ConfigError(
      'LATCHKEY_KEYS must be set with PostgreSQL: 32 random bytes in base64url, the same on every node.',
    );
  }
  const path = keyFilePath(config);
  try {
    if (!existsSync(path)) {
      if (!make) throw new ConfigError(`LATCHKEY_KEYS is not set, and there is no key file ${path}.`);
      requireRetiredKeys(env);
      createKeyFile(path);
    }
    const text = readFileSync(path, 'utf8').trim();
    return checkedKeys(`LATCHKEY_KEYS in the file ${path}`, () => parseKeyRing(text));
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(
      `LATCHKEY_KEYS is not set, and the key file ${path} cannot be used: ${String(error)}.`,
    );
  }
}

/**
 * What the security log is checked with: the ring, and the keys of `LATCHKEY_RETIRED_KEYS`, which are good for no token.
 * @throws {ConfigError} when one of them cannot be used
 */
export function readLogKeys(ring: KeyRing, env: Environment = process.env): LogKeys {
  const retired = env['LATCHKEY_RETIRED_KEYS']?.trim();
  return retired ? checkedKeys('LATCHKEY_RETIRED_KEYS', () => withRetiredKeys(ring, retired)) : ring;
}

/** Refuses keys that nothing could read, before a key is made that would stay behind when the start fails. */
function requireRetiredKeys(env: Environment): void {
  const retired = env['LATCHKEY_RETIRED_KEYS']?.trim();
  if (retired) checkedKeys('LATCHKEY_RETIRED_KEYS', () => parseKeyRing(retired));
}

const checkedKeys = <Keys>(name: string, parse: () => Keys): Keys => {
  try {
    return parse();
  } catch (error) {
    throw new ConfigError(`${name} cannot be used: ${(error as Error).message}.`);
  }
};

/** Makes the key file unless it is there. Whole or not at all, also when two processes start at once. */
function createKeyFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${crypto.randomUUID()}.tmp`;
  writeFileSync(temporary, `${generateKey()}\n`, { mode: 0o600, flush: true });
  try {
    linkSync(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(temporary);
  }
}
