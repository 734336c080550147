import type { Config } from '../platform/config/config.ts';
import type { Context } from '../platform/context.ts';
import { unknownSettings } from '../settings.ts';
import { settingsWarnings } from './warnings.ts';

/** Announces the service in the log, and on standard error for the person who started it. */
export function announce({ config, log }: Pick<Context, 'config' | 'log'>): void {
  log.info({ url: config.baseUrl, host: config.host, port: config.port }, 'Latchkey is ready');
  for (const warning of settingsWarnings(config, unknownSettings())) log.warn(warning);
  process.stderr.write(nextSteps(config));
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
