import type { Config } from '../platform/config.ts';
import { isLoopbackHost } from '../platform/values/loopback.ts';

/** What an operator should know of settings that can be used, but are probably not meant. */
export function settingsWarnings(config: Config, unknown: readonly string[]): string[] {
  const found = unknown.map((name) => `${name} is set, but there is no such setting`);
  if (config.devMailbox) found.push(`no SMTP server is set: mails are at ${config.baseUrl}/dev/mailbox`);
  else if (!config.smtpUrl) found.push('LATCHKEY_SMTP_URL is not set: no mail will be delivered');
  const { hostname } = new URL(config.baseUrl);
  if (!config.https && !isLoopbackHost(hostname)) {
    found.push('LATCHKEY_BASE_URL is not https: tokens and links cross the network in clear');
  }
  if (config.trustedProxies.length === 0 && (config.https || !isLoopbackHost(hostname))) {
    found.push(
      'LATCHKEY_TRUSTED_PROXIES is not set: behind a proxy all clients would share one address and its limits',
    );
  }
  if (!config.rateLimitsEnabled) found.push('LATCHKEY_RATE_LIMITS is off: for load tests only');
  return found;
}
