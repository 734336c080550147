import type { Config } from '../platform/config/config.ts';
import { postgresServers } from '../platform/database/postgres-primary.ts';
import { isLoopbackHost } from '../platform/values/loopback.ts';
import { unknownSettings } from '../settings.ts';
import type { CommandContext } from './commands.ts';

/** Announces the service in the log, and on standard error for the person who started it. */
export function announce({ config, log, env, output }: CommandContext): void {
  log.info({ url: config.baseUrl, host: config.host, port: config.port }, 'Latchkey is ready');
  for (const warning of settingsWarnings(config, unknownSettings(env))) log.warn(warning);
  output.say(nextSteps(config));
}

/** How to run the command line: from source, in the checkout. Elsewhere `npx latchkey` would ask the npm registry. */
const commandLine = import.meta.path.endsWith('.ts') ? 'npx latchkey' : 'latchkey';

function nextSteps({ baseUrl, devMailbox }: Config): string {
  const mails = devMailbox ? `  Emails:   ${baseUrl}/dev/mailbox (until LATCHKEY_SMTP_URL is set)\n` : '';
  return `
Latchkey is ready at ${baseUrl}

  Sign in:  ${baseUrl}/login
${mails}  Terminal: ${commandLine} login --server ${baseUrl}
  API:      ${baseUrl}/docs
`;
}

/** Whether a database may be on another machine, beyond a network of containers, and is not asked to prove who it is. */
const isExposed = (url: URL | null): url is URL =>
  url?.protocol.startsWith('postgres') === true &&
  /[.:]/.test(url.hostname) &&
  !isLoopbackHost(url.hostname) &&
  url.searchParams.get('sslmode') !== 'verify-full';

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
  if (!config.hasPasskeys) {
    warnings.push(
      `The host of LATCHKEY_BASE_URL is the IP address ${hostname}: browsers offer passkeys only for domain names${config.isLocal ? ', such as localhost' : ''}`,
    );
  }
  if (config.trustedProxies.length === 0 && (config.https || !isLoopbackHost(hostname))) {
    warnings.push(
      'LATCHKEY_TRUSTED_PROXIES is not set: behind a proxy, all clients share one address and its rate limits',
    );
  }
  if (config.trustedProxies.some(([, prefix]) => prefix === 0)) {
    warnings.push('LATCHKEY_TRUSTED_PROXIES names every address: every client can claim to be any other');
  }
  const databases = [config.databaseUrl, config.databaseDirectUrl ?? ''].flatMap(postgresServers);
  const exposed = databases.map((url) => URL.parse(url)).find(isExposed);
  if (exposed) {
    warnings.push(
      `The database's URL does not require an encrypted connection to ${exposed.hostname} with a verified certificate: add sslmode=verify-full to its query`,
    );
  }
  if (!config.rateLimitsEnabled) warnings.push('LATCHKEY_RATE_LIMITS is off: use this for load tests only');
  return warnings;
}
