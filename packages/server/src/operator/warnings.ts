import type { Config } from '../platform/config/config.ts';
import { isLoopbackHost } from '../platform/values/loopback.ts';

/** Warnings about settings that are valid but probably not intended. */
export function settingsWarnings(config: Config, unknown: readonly string[]): string[] {
  const warnings = unknown.map((name) => `${name} is set, but it is not a setting of Latchkey`);
  if (config.devMailbox)
    warnings.push(`LATCHKEY_SMTP_URL is not set: read emails at ${config.baseUrl}/dev/mailbox`);
  else if (!config.smtpUrl) warnings.push('LATCHKEY_SMTP_URL is not set: no email is sent');
  const { hostname } = new URL(config.baseUrl);
  if (!config.https && !isLoopbackHost(hostname)) {
    warnings.push('LATCHKEY_BASE_URL is not https: tokens and links cross the network unencrypted');
  }
  if (config.trustedProxies.length === 0 && (config.https || !isLoopbackHost(hostname))) {
    warnings.push(
      'LATCHKEY_TRUSTED_PROXIES is not set: behind a proxy, all clients share one address and its rate limits',
    );
  }
  if (!config.rateLimitsEnabled) warnings.push('LATCHKEY_RATE_LIMITS is off: use this for load tests only');
  return warnings;
}
