import { ConfigError } from './config-error.ts';
import type { Environment } from './environment.ts';
import * as format from './formats.ts';

export const day = 86_400;
export const maxTtlSeconds = 10 * 365 * day;

/** What `docs/settings.md` says about a setting. `tools/settings-page.ts` generates that page. */
export interface SettingText {
  readonly name: string;
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

export const setting = <T>(
  name: string,
  format: format.Format<T>,
  defaultValue: string | number,
  description: string,
): Setting<T> => ({ name, format, default: String(defaultValue), description });

const optional = <T>(
  name: string,
  format: format.Format<T>,
  description: string,
  withoutDefault = 'none',
): Setting<T | undefined> => ({ name, format, default: undefined, withoutDefault, description });

/** Settings by their members of `Config`. */
export type Settings = Readonly<Record<string, Setting<unknown>>>;

/** What settings add to `Config`. */
export type ConfigOf<Declared extends Settings> = {
  readonly [Member in keyof Declared]: Declared[Member] extends Setting<infer T> ? T : never;
};

/**
 * The settings of the platform, by their members of `Config`. Capabilities declare theirs in `settings.ts`.
 */
export const platformSettings = {
  port: setting(
    'PORT',
    format.port,
    8787,
    'TCP port to listen on. `0` takes a free one, which the first line of the log names.',
  ),
  host: setting(
    'HOST',
    format.anyText('an IP address or a host name'),
    '127.0.0.1',
    'Address to listen on. The service speaks plain HTTP: TLS ends at a proxy.',
  ),
  databaseUrl: setting(
    'DATABASE_URL',
    format.databaseUrl,
    'sqlite:data/latchkey.db',
    'The database. On PostgreSQL (14 or later) any number of nodes can share it, and the URL may name a primary and its standbys (`postgres://…@one,two/latchkey`); `?sslmode=verify-full` encrypts the connection to it. SQLite is for one process.',
  ),
  databaseDirectUrl: optional(
    'LATCHKEY_DATABASE_DIRECT_URL',
    format.postgresUrl,
    'The same database without the pooler that `DATABASE_URL` names. Migrations and commands use it, and the connection that listens. Through the pooler no statement is prepared.',
    '`DATABASE_URL`',
  ),
  baseUrl: optional(
    'LATCHKEY_BASE_URL',
    format.origin,
    'Public address: links in emails, cookies and passkeys belong to it. Must be `https` unless its host is a loopback one or `LATCHKEY_INSECURE_HTTP` is `on`.',
    '`http://localhost` and the port',
  ),
  smtpUrl: optional(
    'LATCHKEY_SMTP_URL',
    format.smtpUrl,
    'Server that sends the emails. `smtp://` requires STARTTLS unless the host is a loopback one.',
    'none: if host and base URL are loopback ones, emails go to the development mailbox; otherwise they stay unsent',
  ),
  mailFrom: optional(
    'LATCHKEY_MAIL_FROM',
    format.mailSender,
    'Sender of all emails.',
    'the product name with the address `no-reply@localhost`',
  ),
  productName: setting(
    'LATCHKEY_PRODUCT_NAME',
    format.displayName,
    'Latchkey',
    'What the service is called on pages, in emails and in the passkey prompt of browsers.',
  ),
  supportUrl: optional(
    'LATCHKEY_SUPPORT_URL',
    format.link,
    'Where people get help. Pages and emails link to it as Help.',
  ),
  legalUrl: optional(
    'LATCHKEY_LEGAL_URL',
    format.link,
    'Your terms of service and privacy policy. Pages and emails link to it as Legal.',
  ),
  logoFile: optional(
    'LATCHKEY_LOGO',
    format.imageFile,
    'A logo of at most 64 KiB, read at start and shown on pages. A PNG is also shown in emails.',
  ),
  allowedOrigins: setting(
    'LATCHKEY_ALLOWED_ORIGINS',
    format.origins,
    '',
    'Further origins whose pages may call the API, use the session cookie and use passkeys.',
  ),
  rpId: optional(
    'LATCHKEY_RP_ID',
    format.anyText('a domain'),
    'Domain that passkeys belong to: the host of the base URL or a parent domain of it. Set it before the first passkey: changing it makes all passkeys unusable.',
    'the host of the base URL',
  ),
  trustedProxies: setting(
    'LATCHKEY_TRUSTED_PROXIES',
    format.addressRanges,
    '',
    'Proxies whose `X-Forwarded-For` determines the address of a client. Required behind a proxy: without it, all clients share one rate limit.',
  ),
  insecureHttp: setting(
    'LATCHKEY_INSECURE_HTTP',
    format.onOff,
    'off',
    '`on` allows a public base URL without TLS, for tests in a closed network.',
  ),
  rateLimits: setting(
    'LATCHKEY_RATE_LIMITS',
    format.rateLimits,
    'on',
    'Quotas other than [the defaults](#rate-limits), like `mails_by_client=100/3600`. `off`, for load tests, leaves only the limit on security notices.',
  ),
  logLevel: setting(
    'LATCHKEY_LOG_LEVEL',
    format.logLevel,
    'info',
    'Lowest level that is logged. Each request is a line of `info`, or of `debug` if it reads the feed and succeeds.',
  ),
  metricsToken: optional(
    'LATCHKEY_METRICS_TOKEN',
    format.bearerToken,
    'Bearer token for `/metrics`.',
    'none: `/metrics` answers only requests from the same machine',
  ),
};

/** The key rings, which `server-keys.ts` reads. */
export const keySettings: readonly SettingText[] = [
  {
    name: 'LATCHKEY_KEYS',
    format: { syntax: 'a comma-separated list of keys of 32 random bytes in base64url' },
    default: undefined,
    withoutDefault: 'on SQLite a key generated into a file beside the database; required with PostgreSQL',
    description:
      'The key ring, the same keys in the same order on every node. The first key signs; all of them verify. `latchkey-server keys` changes it.',
  },
  {
    name: 'LATCHKEY_RETIRED_KEYS',
    format: { syntax: 'a comma-separated list of keys, as above' },
    default: undefined,
    description: 'Keys that left the ring. They only verify the security log; no token under them is valid.',
  },
];

/**
 * The values of settings, or their defaults. White space around a value, which files and secret stores add,
 * is not part of it. An empty variable counts as not set.
 * @throws {ConfigError} naming the first setting that is not valid
 */
export const readSettings = <S extends Settings>(settings: S, env: Environment): ConfigOf<S> =>
  Object.fromEntries(
    Object.entries(settings).map(([member, { name, format, default: fallback }]) => {
      const text = env[name]?.trim() || fallback;
      if (text === undefined) return [member, undefined];
      const value = format.parse(text);
      if (value === undefined) throw new ConfigError(`${name} must be ${format.syntax}.`);
      return [member, value];
    }),
  ) as ConfigOf<S>;
