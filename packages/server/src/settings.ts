import { identityLimits, identitySettings } from './identity/settings.ts';
import { type Config, readConfigOf } from './platform/config/config.ts';
import { ConfigError } from './platform/config/config-error.ts';
import type { Environment } from './platform/config/environment.ts';
import {
  type ConfigOf,
  keySettings,
  platformSettings,
  type SettingText,
} from './platform/config/settings.ts';
import type { RateLimitName, Rules } from './platform/rate-limits/limiter.ts';
import { logLimits, logSettings } from './security-log/settings.ts';
import { serviceLimits, serviceSettings } from './services/settings.ts';
import { sessionLimits, sessionSettings } from './sessions/settings.ts';
import { signInLimits, signInSettings } from './sign-in/settings.ts';
import { trustSettings } from './trust/settings.ts';

/** The settings of all layers, by their members of `Config`. */
const declaredSettings = {
  ...identitySettings,
  ...sessionSettings,
  ...signInSettings,
  ...trustSettings,
  ...logSettings,
  ...serviceSettings,
};

export const rateLimitRules = {
  ...identityLimits,
  ...logLimits,
  ...signInLimits,
  ...serviceLimits,
  ...sessionLimits,
} satisfies Rules;

declare module './platform/config/config.ts' {
  interface Config extends ConfigOf<typeof declaredSettings> {}
}

declare module './platform/rate-limits/limiter.ts' {
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

/** Reads and checks the settings. @throws {ConfigError} naming the first setting that is not valid */
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

/** A default is never over the lifetime. @throws {ConfigError} for a longer one that is configured */
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
  const { name } = sessionSettings.trustedIssuers;
  const isOurs = (url: string): boolean => url.replace(/\/$/, '') === baseUrl;
  if (!isLocal && trustedIssuers.some((issuer) => issuer.startsWith('http:')))
    throw new ConfigError(`${name} must be https, unless the host of LATCHKEY_BASE_URL is a loopback one.`);
  if (trustedIssuers.some(isOurs)) throw new ConfigError(`${name} must not list LATCHKEY_BASE_URL.`);
  // An application would take the token for one of its own.
  if (identityAudiences.some((audience) => isOurs(audience) || audience.startsWith('svc_')))
    throw new ConfigError(
      `${trustSettings.identityAudiences.name} must list neither LATCHKEY_BASE_URL nor services.`,
    );
}

/** Variables that start with `LATCHKEY_` but are not settings: probably misspelled. */
export const unknownSettings = (env: Environment): string[] =>
  Object.keys(env).filter((name) => name.startsWith('LATCHKEY_') && !settingNames.has(name));
