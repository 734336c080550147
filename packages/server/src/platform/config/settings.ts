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

export interface Setting<T> {
  readonly format: format.Format<T>;
  /** As an operator would write it. Undefined: the setting has no default of its own. */
  readonly default: string | undefined;
  readonly description: string;
}

const setting = <T>(
  format: format.Format<T>,
  defaultValue: string | number,
  description: string,
): Setting<T> => ({ format, default: String(defaultValue), description });

const optional = <T>(format: format.Format<T>, description: string): Setting<T | undefined> => ({
  format,
  default: undefined,
  description,
});

/** Every setting except the key rings and the rate limits. */
const settings = {
  PORT: setting(format.port, 8787, 'TCP port to listen on.'),
  HOST: setting(format.anyText, '127.0.0.1', 'Address to listen on.'),
  DATABASE_URL: setting(
    format.databaseUrl,
    'sqlite:data/latchkey.db',
    'The database. PostgreSQL lets several nodes share it.',
  ),
  LATCHKEY_BASE_URL: optional(
    format.origin,
    'Public address: used in links and as the own origin. Default: http://localhost with PORT.',
  ),
  LATCHKEY_SMTP_URL: optional(
    format.smtpUrl,
    'Mail server. smtp:// requires STARTTLS unless the host is a loopback address.',
  ),
  LATCHKEY_MAIL_FROM: setting(format.mailSender, 'Latchkey <no-reply@localhost>', 'Sender of all mails.'),
  LATCHKEY_SIGNUP: setting(format.signupPolicy, 'open', 'Who may create an account.'),
  LATCHKEY_ALLOWED_ORIGINS: setting(
    format.origins,
    '',
    'Further origins whose pages may use the API, cookies and passkeys.',
  ),
  LATCHKEY_RP_ID: optional(
    format.anyText,
    'Domain that passkeys belong to. Changing it loses all passkeys. Default: the host of the base URL.',
  ),
  LATCHKEY_TRUSTED_PROXIES: setting(
    format.addressRanges,
    '',
    'Proxies whose forwarding headers determine the address of a client.',
  ),
  LATCHKEY_INSECURE_HTTP: setting(
    format.onOff,
    'off',
    'Allows a public base URL without TLS, for tests in a closed network.',
  ),
  LATCHKEY_RATE_LIMITS: setting(format.onOff, 'on', 'Turns rate limits off, for load tests.'),
  LATCHKEY_METRICS_TOKEN: optional(
    format.bearerToken,
    'Bearer token for /metrics. Without it, only this machine may read them.',
  ),
  LATCHKEY_ACCESS_TOKEN_TTL: setting(format.seconds(1, 30 * day), 14_400, 'Lifetime of an access token.'),
  LATCHKEY_REFRESH_IDLE_TTL: setting(
    format.seconds(1, maxTtlSeconds),
    30 * day,
    'Idle timeout of a session.',
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
    'Lifetime of a magic link and of the code in the same mail.',
  ),
  LATCHKEY_EMAIL_CODE_TRIES: setting(
    format.count(maxCodeAttempts),
    5,
    'Attempts at an emailed code. The magic link in the same mail stays valid.',
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
    'How long a spent refresh token counts as a race and not as a theft. 0 is strict.',
  ),
  LATCHKEY_EVENT_RETENTION: setting(
    format.seconds(day, maxTtlSeconds),
    400 * day,
    'How long events stay in the security log.',
  ),
};

/** The setting of each rate limit. */
export const rateLimitSettings = Object.fromEntries(
  rateLimitNames.map((name) => {
    const { quota, windowSeconds } = rateLimitRules[name];
    const description = `Rate limit ${name}: quota and window.`;
    return [name, setting(format.rateLimitQuota, `${quota}/${windowSeconds}`, description)];
  }),
) as Record<RateLimitName, ReturnType<typeof setting<{ quota: number; windowSeconds: number }>>>;

/** Settings that other files or programs read. */
const otherSettings = ['LATCHKEY_KEYS', 'LATCHKEY_RETIRED_KEYS', 'LATCHKEY_SERVER', 'LATCHKEY_CREDENTIALS'];

export const settingNames: ReadonlySet<string> = new Set([
  ...Object.keys(settings),
  ...rateLimitNames.map(rateLimitSetting),
  ...otherSettings,
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
