import type { Server } from 'bun';
import { createApp, sweeps, templates } from '../app.ts';
import { type Config, unknownSettings } from '../config.ts';
import type { Context } from '../context.ts';
import { startSweeper } from '../database/sweep.ts';
import type { Lifecycle } from '../http/conventions.ts';
import { mailboxTransport, smtpTransport } from '../mail/transport.ts';
import { type MailWorker, startMailWorker } from '../mail/worker.ts';

/** How long requests in flight may take to finish after SIGTERM. */
const drainDeadlineMs = 10_000;
const idleTimeoutSeconds = 30;

/** Larger bodies than any endpoint takes still reach the size check, which answers in the contract's words. */
const greatestRequestBytes = 256 * 1024 * 1024;

/** Runs the service until SIGTERM or SIGINT. Resolves when what was in flight is finished and stored. */
export async function serve(base: Omit<Context, 'wakeMailWorker'>): Promise<void> {
  const { config, log } = base;
  let mailWorker: MailWorker | undefined;
  const ctx: Context = { ...base, wakeMailWorker: () => mailWorker?.wake() };
  const lifecycle: Lifecycle = { draining: false };
  const app = createApp(ctx, lifecycle);
  const transport = config.smtpUrl
    ? smtpTransport(config, config.smtpUrl)
    : config.devMailbox && mailboxTransport;

  const server = Bun.serve({
    hostname: config.host,
    port: config.port,
    idleTimeout: idleTimeoutSeconds,
    maxRequestBodySize: greatestRequestBytes,
    development: false,
    fetch: (request, self) => app.fetch(request, { peer: self.requestIP(request)?.address }),
  });
  if (transport) mailWorker = startMailWorker(ctx, templates, transport);
  const sweeper = startSweeper(ctx.db, sweeps, ctx.clock, log);
  announce(ctx);

  const signal = await new Promise<string>((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => resolve(name));
  });
  log.info({ signal }, 'draining');
  lifecycle.draining = true;
  await drain(server);
  await mailWorker?.stop();
  await sweeper.stop();
  await ctx.db.close();
  log.info('stopped');
}

async function drain(server: Server<undefined>): Promise<void> {
  const finished = server.stop();
  await Promise.race([finished, Bun.sleep(drainDeadlineMs)]);
  await server.stop(true);
}

/** Says where the service is: in the log for machines, on standard error for the person who started it. */
function announce({ config, log }: Context): void {
  log.info({ url: config.baseUrl, host: config.host, port: config.port }, 'Latchkey is ready');
  for (const warning of warnings(config)) log.warn(warning);
  process.stderr.write(nextSteps(config));
}

function nextSteps({ baseUrl, devMailbox }: Config): string {
  const mails = devMailbox ? `  Mails:    ${baseUrl}/dev/mailbox (until LATCHKEY_SMTP_URL is set)\n` : '';
  return `
Latchkey is ready at ${baseUrl}

  Sign in:  ${baseUrl}/login
${mails}  A device: curl -X POST ${baseUrl}/api/v1/auth/device
  API:      ${baseUrl}/openapi.json

`;
}

function warnings(config: Config): string[] {
  const found = unknownSettings().map((name) => `${name} is set, but there is no such setting`);
  if (config.devMailbox) found.push(`no SMTP server is set: mails are at ${config.baseUrl}/dev/mailbox`);
  else if (!config.smtpUrl) found.push('LATCHKEY_SMTP_URL is not set: no mail will be delivered');
  if (!config.rateLimits) found.push('LATCHKEY_RATE_LIMITS is off: for load tests only');
  return found;
}
