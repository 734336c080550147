import type { Server } from 'bun';
import { createApp, startUpkeep, templates } from '../app.ts';
import type { Config } from '../platform/config/config.ts';
import { isRunByNpx } from '../platform/config/environment.ts';
import type { App, Lifecycle } from '../platform/http/server.ts';
import { mailboxTransport, smtpTransport, type Transport } from '../platform/mail/transport.ts';
import { MailWorker } from '../platform/mail/worker.ts';
import { observeProcess } from '../platform/telemetry/metrics.ts';
import { announce } from './announcement.ts';
import type { CommandContext } from './commands.ts';
import { listen } from './listener.ts';

/** How long the service waits after SIGTERM for requests in flight and mails being sent. */
const drainDeadlineMs = 10_000;
const drainPollMs = 10;

/** How long the last responses may take to leave the sockets. */
const closeGraceMs = 500;

/**
 * Runs the service until SIGTERM or SIGINT. Resolves when the requests in flight are answered and stored; new ones get a 503 until
 * then. `atPort` completes the settings with the port, which the system chooses where `PORT` is 0.
 */
export async function serve(base: CommandContext, atPort: (port: number) => Config): Promise<void> {
  const { log } = base;
  let app: App;
  let mailWorker: MailWorker | undefined;
  const stop = new AbortController();
  const lifecycle: Lifecycle = { draining: false, inFlight: 0 };

  const ended = nextSignal();
  // No request arrives before this turn of the event loop ends.
  const server = listen(base.config, (request, connection) =>
    app.fetch(withAbsoluteUrl(request, config), connection),
  );
  const config = atPort(server.port ?? base.config.port);
  const ctx: CommandContext = {
    ...base,
    config,
    wakeMailWorker: () => mailWorker?.wake(),
    stopping: stop.signal,
  };
  observeProcess(ctx.metrics);
  app = createApp(ctx, lifecycle);
  const transport = mailTransport(config);
  if (transport) mailWorker = new MailWorker(ctx, templates, transport);
  const upkeep = startUpkeep(ctx);
  announce(ctx);

  log.info({ signal: await ended }, 'draining');
  lifecycle.draining = true;
  const deadline = Bun.sleep(drainDeadlineMs);
  stop.abort();
  const finished = upkeep.stop();
  await drain(lifecycle, server);
  // A mail that is still being sent at the deadline is sent again by the worker that finds its lease expired.
  await Promise.race([mailWorker?.stop(), deadline]);
  await Promise.race([finished, deadline]);
  await ctx.db.close();
  log.info('stopped');
}

/** HTTP/1.0 clients, such as simple health checks, may send no Host header. */
const withAbsoluteUrl = (request: Request, { baseUrl }: Config): Request =>
  request.url.startsWith('http') ? request : new Request(baseUrl + request.url, request);

/** How mails leave this service; undefined where there is no way. */
function mailTransport(config: Config): Transport | undefined {
  if (config.smtpUrl) return smtpTransport(config, config.smtpUrl);
  return config.devMailbox ? mailboxTransport : undefined;
}

async function drain(lifecycle: Lifecycle, server: Server<undefined>): Promise<void> {
  for (let waited = 0; lifecycle.inFlight > 0 && waited < drainDeadlineMs; waited += drainPollMs) {
    await Bun.sleep(drainPollMs);
  }
  await Promise.race([server.stop(), Bun.sleep(closeGraceMs)]);
  await server.stop(true);
}

const parentPollMs = 250;

/** Resolves with the first signal that stops the process. Later ones have no effect. */
function nextSignal(): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  for (const name of ['SIGTERM', 'SIGINT']) process.on(name, () => resolve(name));
  // When npx is stopped, it ends its shell, which forwards no signal: the missing parent is the only sign.
  const parent = process.ppid;
  const endWithParent = () => process.ppid !== parent && resolve('end of npx');
  if (isRunByNpx()) setInterval(endWithParent, parentPollMs).unref();
  return promise;
}
