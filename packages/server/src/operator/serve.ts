import type { Server } from 'bun';
import { createApp, loadRest, startUpkeep, templates } from '../app.ts';
import type { Config } from '../platform/config/config.ts';
import { isRunBySystemd } from '../platform/config/environment.ts';
import type { Context } from '../platform/context.ts';
import type { Lifecycle } from '../platform/http/server.ts';
import { mailboxTransport, smtpTransport, type Transport } from '../platform/mail/transport.ts';
import { MailWorker } from '../platform/mail/worker.ts';
import { observeProcess } from '../platform/telemetry/metrics.ts';
import { announce } from './announcement.ts';
import { listen } from './listener.ts';
import { giveBackMemory, restIntervalMs, watchRest } from './rest.ts';
import { nextSignal } from './stop-signal.ts';
import type { SupervisorConnection } from './worker.ts';

/** How long the service waits after SIGTERM for requests in flight and mails being sent. */
const drainDeadlineMs = 10_000;
const drainPollMs = 10;

/** How long a worker that was replaced serves the connections it has. Clients that use one learn that it ends. */
const retireMs = 1_000;

/** How long the last responses may take to leave the sockets. */
const closeGraceMs = 500;

/**
 * Runs the service until SIGTERM or SIGINT; as a worker also until it is replaced or its supervisor has ended, and otherwise
 * until `systemctl reload`, after which systemd starts it again. Resolves when the requests in flight are answered and stored.
 * New ones get a 503 until then, unless another worker is there for them.
 */
export async function serve(
  base: Omit<Context, 'wakeMailWorker' | 'stopping' | 'otherMetrics'>,
  supervisor: SupervisorConnection | undefined,
): Promise<void> {
  const { config, log } = base;
  let mailWorker: MailWorker | undefined;
  const stop = new AbortController();
  const ctx: Context = {
    ...base,
    otherMetrics: supervisor?.otherMetrics,
    wakeMailWorker: () => mailWorker?.wake(),
    stopping: stop.signal,
  };
  observeProcess(ctx.metrics);
  const lifecycle: Lifecycle = { draining: false, retiring: false, inFlight: 0, handled: 0 };
  const app = createApp(ctx, lifecycle);

  const ended = reasonToEnd(supervisor);
  const server = listen(config, app, { shared: supervisor !== undefined });
  const transport = mailTransport(config);
  if (transport) mailWorker = new MailWorker(ctx, templates, transport);
  const upkeep = startUpkeep(ctx);
  if (supervisor) supervisor.ready(() => ctx.metrics.registry.getMetricsAsJSON());
  else announce(ctx);
  void loadRest(ctx);
  const resting = setInterval(
    watchRest(lifecycle, () => giveBackMemory(ctx.db)),
    restIntervalMs,
  ).unref();

  const signal = await ended;
  // A closed database cannot shrink.
  clearInterval(resting);
  log.info({ signal }, 'draining');
  if (signal === replaced) await retire(lifecycle, server);
  else lifecycle.draining = true;
  const deadline = Bun.sleep(drainDeadlineMs);
  stop.abort();
  const finished = upkeep.stop();
  await drain(lifecycle, server);
  // A mail that is still being sent at the deadline is sent again by the worker that finds its lease expired.
  await Promise.race([mailWorker?.stop(), deadline]);
  await Promise.race([finished, deadline]);
  await ctx.db.close();
  await supervisor?.leave(await ctx.metrics.registry.getMetricsAsJSON());
  log.info('stopped');
}

const replaced = 'replaced by another worker';

const reasonToEnd = (supervisor: SupervisorConnection | undefined): Promise<string> =>
  supervisor
    ? Promise.race([
        nextSignal('SIGTERM', 'SIGINT'),
        supervisor.retired.then(() => replaced),
        supervisor.lost.then(() => 'end of the supervisor'),
      ])
    : nextSignal('SIGTERM', 'SIGINT', ...(isRunBySystemd() ? (['SIGHUP'] as const) : []));

/** How mails leave this service; undefined where there is no way. */
function mailTransport(config: Config): Transport | undefined {
  if (config.smtpUrl) return smtpTransport(config, config.smtpUrl);
  return config.devMailbox ? mailboxTransport : undefined;
}

/** Leaves new connections to other workers, and for a while serves those that are open. */
async function retire(lifecycle: Lifecycle, server: Server<undefined>): Promise<void> {
  lifecycle.retiring = true;
  void server.stop();
  await Bun.sleep(retireMs);
}

/** Waits for the requests in flight, then closes the server. */
async function drain(lifecycle: Lifecycle, server: Server<undefined>): Promise<void> {
  for (let waited = 0; lifecycle.inFlight > 0 && waited < drainDeadlineMs; waited += drainPollMs) {
    await Bun.sleep(drainPollMs);
  }
  await Promise.race([server.stop(), Bun.sleep(closeGraceMs)]);
  await server.stop(true);
}
