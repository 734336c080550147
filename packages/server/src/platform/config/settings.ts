import { fieldLimits } from '@latchkey/contract/field-limits';
import {
  type RateLimitName,
  rateLimitNames,
  rateLimitRules,
  rateLimitSetting,
} from '../rate-limits/rules.ts';
import { ConfigError } from './config-error.ts';
import type { Environment } from './environment.ts';
import * as format from './formats.ts';

const day = 86_400;
const maxTtlSeconds = 10 * 365 * day;

/** Attempts at one emailed code. Any number up to this is safe: there are 20^8 codes. */
const maxCodeAttempts = 100;

/** Far more connections than a process with one thread can use. */
const maxPoolSize = 1000;

/** What `docs/settings.md` says about a setting. `tools/settings-page.ts` generates that page. */
export interface SettingText {
  readonly format: Pick<format.Format<unknown>, 'syntax' | 'seconds'>;
  /** As an operator would write it. Undefined: the setting has no default of its own. */
  readonly default: string | undefined;
  /** What applies without a default of its own, in Markdown. */
  readonly withoutDefault?: string;
  /** What it is for, in Markdown. */
  readonly description: string;
}

export interface Setting<T> extends SettingText {
  readonly format: format.Format<T>;
}

const setting = <T>(
  format: format.Format<T>,
  defaultValue: string | number,
  description: string,
): Setting<T> => ({ format, default: String(defaultValue), description });

const optional = <T>(
  format: format.Format<T>,
  description: string,
  withoutDefault = 'none',
): Setting<T | undefined> => ({ format, default: undefined, withoutDefault, description });

/** Every setting except the key rings and the rate limits. */
export const settings = {
  PORT: setting(format.port, 8787, 'TCP port to listen on.'),
  HOST: setting(
    { ...format.anyText, syntax: 'an IP address or a host name' },
    '127.0.0.1',
    'Address to listen on. The service speaks plain HTTP: TLS ends at a proxy.',
  ),
  DATABASE_URL: setting(
    format.databaseUrl,
    'sqlite:data/latchkey.db',
    'The database. On PostgreSQL (14 or later) any number of nodes can share it, and the URL may name a primary and its standbys (`postgres://…@one,two/latchkey`). SQLite is for one process.',
  ),
  LATCHKEY_DATABASE_DIRECT_URL: optional(
    format.postgresUrl,
    'The same database without the pooler of `DATABASE_URL`. Migrations use it, and the connection that listens.',
    '`DATABASE_URL`',
  ),
  LATCHKEY_DATABASE_PREPARE: setting(
    format.onOff,
    'on',
    '`off` uses no prepared statements. Required behind a pooler that shares connections between transactions and does not know them, such as PgBouncer before 1.21.',
  ),
  LATCHKEY_DATABASE_POOL: setting(
    format.count(maxPoolSize),
    16,
    'How many connections each process keeps to PostgreSQL, besides one that listens. `doctor` compares the sum with what the database allows.',
  ),
  LATCHKEY_WORKERS: setting(
    format.workers,
    1,
    'How many processes share the port. `auto` is one for each core. More than one needs PostgreSQL and Linux; otherwise `auto` is 1.',
  ),
  LATCHKEY_BASE_URL: optional(
    format.origin,
    'The public address: links in emails, cookies and passkeys belong to it. Must be `https` unless its host is a loopback one or `LATCHKEY_INSECURE_HTTP` is `on`.',
    '`http://localhost` and the port',
  ),
  LATCHKEY_SMTP_URL: optional(
    format.smtpUrl,
    'The server that sends the emails. `smtp://` requires STARTTLS unless the host is a loopback one.',
    'none: if host and base URL are loopback ones, emails go to the development mailbox; otherwise they stay unsent',
  ),
  LATCHKEY_MAIL_FROM: optional(
    format.mailSender,
    'The sender of all emails.',
    'the product name with the address `no-reply@localhost`',
  ),
  LATCHKEY_PRODUCT_NAME: setting(
    format.displayName,
    'Latchkey',
    'What the service is called on pages, in emails and in the passkey prompt of browsers.',
  ),
  LATCHKEY_PRODUCT_URL: optional(
    format.link,
    'Website of the product. Pages and emails link to it under the product name.',
  ),
  LATCHKEY_SUPPORT_URL: optional(format.link, 'Where people get help. Pages and emails link to it as Help.'),
  LATCHKEY_LOGO: optional(
    format.imageFile,
    'A logo of at most 64 KiB, read at start and shown on pages. A PNG is also shown in emails.',
  ),
  LATCHKEY_SIGNUP: setting(
    format.signupPolicy,
    'open',
    'Who can create an account: everyone, no one, or people with an email address in one of these domains.',
  ),
  LATCHKEY_ALLOWED_ORIGINS: setting(
    format.origins,
    '',
    'Further origins whose pages may call the API, use the session cookie and use passkeys.',
  ),
  LATCHKEY_CLIENT_HOSTS: setting(
    format.hosts,
    '',
    'Hosts of OAuth clients that describe themselves at the URL that is their `client_id`.',
  ),
  LATCHKEY_RP_ID: optional(
    { ...format.anyText, syntax: 'a domain' },
    'The domain that passkeys belong to: the host of the base URL or a parent domain of it. Changing it makes all passkeys unusable.',
    'the host of the base URL',
  ),
  LATCHKEY_TRUSTED_PROXIES: setting(
    format.addressRanges,
    '',
    'Proxies whose `X-Forwarded-For` determines the address of a client. Without it, all clients behind a proxy share one rate limit.',
  ),
  LATCHKEY_INSECURE_HTTP: setting(
    format.onOff,
    'off',
    '`on` allows a public base URL without TLS, for tests in a closed network.',
  ),
  LATCHKEY_RATE_LIMITS: setting(
    format.onOff,
    'on',
    '`off` turns rate limits off, for load tests. Security notices stay limited.',
  ),
  LATCHKEY_LOG_LEVEL: setting(
    format.logLevel,
    'info',
    'The least level that is logged. Each request is a line of `info`, but of `debug` if it reads the feed and succeeds.',
  ),
  LATCHKEY_METRICS_TOKEN: optional(
    format.bearerToken,
    'Bearer token for `/metrics`.',
    'none: `/metrics` answers only requests from the same machine',
  ),
  LATCHKEY_ACCESS_TOKEN_TTL: setting(format.seconds(1, 30 * day), 14_400, 'Lifetime of an access token.'),
  LATCHKEY_REFRESH_IDLE_TTL: setting(
    format.seconds(1, maxTtlSeconds),
    30 * day,
    'Idle timeout of a session. Must not be longer than `LATCHKEY_SESSION_TTL`.',
  ),
  LATCHKEY_SESSION_TTL: setting(
    format.seconds(1, maxTtlSeconds),
    180 * day,
    'Absolute lifetime of a session.',
  ),
  LATCHKEY_DEVICE_CODE_TTL: setting(format.seconds(1, day), 600, 'Lifetime of a device code.'),
  LATCHKEY_DEVICE_POLL_INTERVAL: setting(
    format.seconds(1, 300),
    5,
    'Minimum time between two polls of a device.',
  ),
  LATCHKEY_MAGIC_LINK_TTL: setting(
    format.seconds(1, day),
    900,
    'Lifetime of a magic link and of the code in the same email.',
  ),
  LATCHKEY_EMAIL_CODE_TRIES: setting(
    format.count(maxCodeAttempts),
    5,
    'Wrong attempts before an emailed code stops working. The magic link in the same email stays valid.',
  ),
  LATCHKEY_EMAIL_CHANGE_TTL: setting(
    format.seconds(1, day),
    3600,
    'Lifetime of the link that confirms a new email address.',
  ),
  LATCHKEY_RECENT_LOGIN_TTL: setting(
    format.seconds(1, 30 * day),
    900,
    'How long after signing in a sensitive action needs no new sign-in.',
  ),
  LATCHKEY_CHALLENGE_TTL: setting(
    format.seconds(1, day),
    300,
    'Time to complete a passkey ceremony. Browsers get it as their timeout.',
  ),
  LATCHKEY_PASSKEYS_PER_USER: setting(
    format.count(fieldLimits.passkeys),
    fieldLimits.passkeys,
    'Maximum number of passkeys in one account.',
  ),
  LATCHKEY_REFRESH_REUSE_LEEWAY: setting(
    format.seconds(0, 600),
    10,
    'How long reuse of the refresh token spent last counts as a race and not as a theft. 0 is strict.',
  ),
  LATCHKEY_RUN_IDLE_TTL: setting(
    format.seconds(1, 30 * day),
    3600,
    'Idle timeout of a run that a service refreshes, from the last token on. A run does not end before its token expires.',
  ),
  LATCHKEY_RUN_TTL: setting(format.seconds(1, 30 * day), day, 'Absolute lifetime of a run.'),
  LATCHKEY_FEED_WAIT: setting(
    format.seconds(0, 20),
    1,
    'How long a request of the feed waits for the next event. Verifiers of the SDK rely on answers that are at most 2 seconds old: with a longer wait they introspect every token.',
  ),
  LATCHKEY_EVENT_RETENTION: setting(
    format.seconds(day, maxTtlSeconds),
    400 * day,
    'How long events stay in the security log.',
  ),
};

/** The key rings, which `keys.ts` reads. */
export const keySettings = {
  LATCHKEY_KEYS: {
    format: { syntax: 'a comma-separated list of keys of 32 random bytes in base64url, newest first' },
    default: undefined,
    withoutDefault: 'on SQLite a key generated into a file beside the database; required with PostgreSQL',
    description: 'The key ring, the same on every node. The first key signs; all of them verify.',
  },
  LATCHKEY_RETIRED_KEYS: {
    format: { syntax: 'a comma-separated list of keys, as above' },
    default: undefined,
    withoutDefault: 'none',
    description: 'Keys that left the ring. They only verify the security log; no token under them is valid.',
  },
} satisfies Record<string, SettingText>;

/** The setting of each rate limit. */
export const rateLimitSettings = Object.fromEntries(
  rateLimitNames.map((name) => {
    const { quota, windowSeconds, description } = rateLimitRules[name];
    return [name, setting(format.rateLimitQuota, `${quota}/${windowSeconds}`, description)];
  }),
) as Record<RateLimitName, ReturnType<typeof setting<{ quota: number; windowSeconds: number }>>>;

/** Settings of the command line. They may be set where the service runs, too. */
export const clientSettings: ReadonlySet<string> = new Set(['LATCHKEY_SERVER', 'LATCHKEY_CREDENTIALS']);

export const settingNames: ReadonlySet<string> = new Set([
  ...Object.keys(settings),
  ...rateLimitNames.map(rateLimitSetting),
  ...Object.keys(keySettings),
  ...clientSettings,
]);

/**
 * The value of one setting, or its default. An empty variable counts as not set.
 * @throws {ConfigError} when the value does not have the format of the setting
 */
export function readSetting<T>(name: string, { format, default: fallback }: Setting<T>, env: Environment): T {
  const text = env[name]?.trim() ? env[name] : fallback;
  if (text === undefined) return undefined as T;
  const result = format.schema.safeParse(text);
  if (result.success) return result.data;
  throw new ConfigError(`${name} ${result.error.issues[0]?.message}.`);
}

type Values = {
  readonly [Name in keyof typeof settings]: (typeof settings)[Name] extends Setting<infer T> ? T : never;
};

/** @throws {ConfigError} naming the first setting that is not valid */
export const readSettings = (env: Environment): Values =>
  Object.fromEntries(
    Object.entries<Setting<unknown>>(settings).map(([name, each]) => [name, readSetting(name, each, env)]),
  ) as Values;
