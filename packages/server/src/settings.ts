import { accountSettings } from './identity/account/settings.ts';
import { emailChangeLimits } from './identity/email-change/settings.ts';
import { requestedMailLimits } from './identity/known-browsers/settings.ts';
import { type Config, readConfigOf } from './platform/config/config.ts';
import { ConfigError } from './platform/config/config-error.ts';
import type { Environment } from './platform/config/environment.ts';
import {
  type ConfigOf,
  keySettings,
  platformSettings,
  type SettingText,
} from './platform/config/settings.ts';
import type { RateLimitName, Rules } from './platform/rate-limits/rules.ts';
import { eventSettings } from './security-log/events/settings.ts';
import { noticeLimits } from './security-log/notices/settings.ts';
import { clientLimits, clientSettings } from './services/clients/settings.ts';
import { serviceTokenLimits } from './services/service-tokens/settings.ts';
import { federationSettings } from './sessions/federation/settings.ts';
import { runLimits } from './sessions/runs/settings.ts';
import { sessionLimits, sessionSettings } from './sessions/settings.ts';
import { authorizeLimits } from './sign-in/authorize/settings.ts';
import { deviceLimits, deviceSettings } from './sign-in/device/settings.ts';
import { magicLinkLimits, magicLinkSettings } from './sign-in/magic-links/settings.ts';
import { passkeyLimits, passkeySettings } from './sign-in/passkeys/settings.ts';
import { feedSettings } from './trust/feed/settings.ts';
import { identitySettings } from './trust/openid/settings.ts';

/** The settings of all capabilities, by their members of `Config`. */
const declaredSettings = {
  ...accountSettings,
  ...sessionSettings,
  ...deviceSettings,
  ...magicLinkSettings,
  ...passkeySettings,
  ...feedSettings,
  ...eventSettings,
  ...clientSettings,
  ...federationSettings,
  ...identitySettings,
};

/** The rate limits of all capabilities. */
export const rateLimitRules = {
  ...requestedMailLimits,
  ...emailChangeLimits,
  ...noticeLimits,
  ...deviceLimits,
  ...authorizeLimits,
  ...clientLimits,
  ...magicLinkLimits,
  ...passkeyLimits,
  ...runLimits,
  ...serviceTokenLimits,
  ...sessionLimits,
} satisfies Rules;

declare module './platform/config/config.ts' {
  interface Config extends ConfigOf<typeof declaredSettings> {}
}

declare module './platform/rate-limits/rules.ts' {
  interface RateLimits extends Record<keyof typeof rateLimitRules, true> {}
}

export const rateLimitNames = Object.keys(rateLimitRules) as RateLimitName[];

/** Every setting but the keys. */
export const allSettings: readonly SettingText[] = [
  ...Object.values(platformSettings),
  ...Object.values(declaredSettings),
];

/** Settings of the command line. They may be set where the service runs, too. */
export const commandLineSettings: ReadonlySet<string> = new Set(['LATCHKEY_SERVER', 'LATCHKEY_CREDENTIALS']);

export const settingNames: ReadonlySet<string> = new Set([
  ...[...allSettings, ...keySettings].map(({ name }) => name),
  ...commandLineSettings,
]);

/**
 * Reads and checks the settings. An empty variable counts as not set.
 * @throws {ConfigError} naming the first setting that is not valid
 */
export function readConfig(env: Environment): Config {
  const config = readConfigOf(env, declaredSettings, rateLimitRules);
  const lifetimes = lifetimesOf(config, env);
  checkIssuersAndAudiences(config);
  return Object.freeze({ ...config, ...lifetimes });
}

/** Each idle timeout with the absolute lifetime that it must not exceed. */
const idleTimeouts = [
  ['refreshIdleTtlSeconds', 'sessionTtlSeconds'],
  ['runIdleTtlSeconds', 'runTtlSeconds'],
] as const;

/**
 * The idle timeouts. One that is not set is never longer than the absolute lifetime.
 * @throws {ConfigError} for one that is set and longer
 */
function lifetimesOf(config: Config, env: Environment): Partial<Config> {
  const timeouts = idleTimeouts.map(([idle, absolute]) => {
    const { name } = sessionSettings[idle];
    if (config[idle] > config[absolute] && env[name]?.trim())
      throw new ConfigError(`${name} must not be longer than ${sessionSettings[absolute].name}.`);
    return [idle, Math.min(config[idle], config[absolute])];
  });
  return Object.fromEntries(timeouts);
}

/** @throws {ConfigError} for an issuer or audience that cannot be one */
function checkIssuersAndAudiences({ trustedIssuers, identityAudiences, baseUrl, isLocal }: Config): void {
  const { name } = federationSettings.trustedIssuers;
  const isOurs = (url: string): boolean => url.replace(/\/$/, '') === baseUrl;
  if (!isLocal && trustedIssuers.some((issuer) => issuer.startsWith('http:')))
    throw new ConfigError(`${name} must be https, unless the host of LATCHKEY_BASE_URL is a loopback one.`);
  if (trustedIssuers.some(isOurs)) throw new ConfigError(`${name} must not list LATCHKEY_BASE_URL.`);
  // An application would take the token for one of its own.
  if (identityAudiences.some((audience) => isOurs(audience) || audience.startsWith('svc_')))
    throw new ConfigError(
      `${identitySettings.identityAudiences.name} must list neither LATCHKEY_BASE_URL nor services.`,
    );
}

/** Variables that start with `LATCHKEY_` but are not settings: probably misspelled. */
export const unknownSettings = (env: Environment): string[] =>
  Object.keys(env).filter((name) => name.startsWith('LATCHKEY_') && !settingNames.has(name));
