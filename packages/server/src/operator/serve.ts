import type { Server } from 'bun';
import { createApp, sweepsOf, templates } from '../app.ts';
import { type Config, ConfigError, isRunByNpx, unknownSettings } from '../platform/config.ts';
import type { Context } from '../platform/context.ts';
import { startSweeper } from '../platform/database/sweep.ts';
import type { ConnectionInfo } from '../platform/http/exchange.ts';
import type { App, Lifecycle } from '../platform/http/server.ts';
import { mailboxTransport, smtpTransport } from '../platform/mail/transport.ts';
import { type MailWorker, startMailWorker } from '../platform/mail/worker.ts';
import { observeProcess } from '../platform/telemetry/metrics.ts';

import { settingsWarnings } from './warnings.ts';

/** How long requests in flight may take to finish after SIGTERM. */
const drainDeadlineMs = 10_000;
const drainPollMs = 10;
const parentPollMs = 250;

/** How long answers that were just made may take to leave. */
const closeGraceMs = 500;
const idleTimeoutSeconds = 30;

/** Larger bodies than any endpoint takes still reach the size check, which answers in the contract's words. */
const maxRequestBytes = 256 * 1024 * 1024;

/** Runs the service until SIGTERM or SIGINT. Resolves when what was in flight is finished and stored. */
export async function serve(base: Omit<Context, 'wakeMailWorker'>): Promise<void> {
  const { config, log } = base;
  let mailWorker: MailWorker | undefined;
  const ctx: Context = { ...base, wakeMailWorker: () => mailWorker?.wake() };
  observeProcess(ctx.metrics);
  const lifecycle: Lifecycle = { draining: false, inFlight: 0 };
  const app = createApp(ctx, lifecycle);
  const transport = config.smtpUrl
    ? smtpTransport(config, config.smtpUrl)
    : config.devMailbox && mailboxTransport;

  const signal = nextSignal();
  const server = listen(config, app);
  if (transport) mailWorker = startMailWorker(ctx, templates, transport);
  const sweeper = startSweeper(ctx.db, sweepsOf(ctx), ctx.clock, log);
  announce(ctx);

  log.info({ signal: await signal }, 'draining');
  lifecycle.draining = true;
  const deadline = Bun.sleep(drainDeadlineMs);
  // Still listening, so that whoever comes now is told to go elsewhere.
  for (let waited = 0; lifecycle.inFlight > 0 && waited < drainDeadlineMs; waited += drainPollMs)
    await Bun.sleep(drainPollMs);
  await Promise.race([server.stop(), Bun.sleep(closeGraceMs)]);
  await server.stop(true);
  // What is still being sent is sent again by whoever finds its lease over.
  await Promise.race([mailWorker?.stop(), deadline]);
  await sweeper.stop();
  await ctx.db.close();
  log.info('stopped');
}

/** The first signal that asks the process to stop. Later ones change nothing: it is stopping. */
const nextSignal = (): Promise<string> =>
  new Promise((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, () => resolve(name));
    if (isRunByNpx()) whenParentEnds(() => resolve('end of npx'));
  });

/** Asked to stop, npx stops its shell, which passes nothing on: that the parent is gone is all there is to see. */
function whenParentEnds(act: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    act();
  }, parentPollMs);
  timer.unref();
}

/** @throws {ConfigError} when the address cannot be listened on */
function listen(config: Config, app: App): Server<undefined> {
  try {
    return Bun.serve({
      hostname: config.host,
      port: config.port,
      // Two services on one port would each get some of the requests.
      reusePort: false,
      idleTimeout: idleTimeoutSeconds,
      maxRequestBodySize: maxRequestBytes,
      development: false,
      fetch: (request, self) => app.fetch(withAbsoluteUrl(request, config), new Connection(request, self)),
    });
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : 'it cannot be used';
    if (reason === 'EADDRINUSE') throw new ConfigError(`PORT ${config.port} is taken by another program.`);
    throw new ConfigError(`HOST ${config.host} cannot be listened on: ${reason}.`);
  }
}

/**
 * Listens for a moment, before a key or a store is made that would stay behind when the start fails.
 * @throws {ConfigError} when the address cannot be listened on
 */
export async function requireFreePort(config: Config): Promise<void> {
  const starting = new Response(null, { status: 503, headers: { 'Retry-After': '1' } });
  await listen(config, { fetch: async () => starting.clone() as Response }).stop(true);
}

/**
 * Asks the socket who is at its other end, at once where the request may change something: its client may be gone
 * before that is written down. Others mostly need not know, and asking costs as much as answering them.
 */
class Connection implements ConnectionInfo {
  readonly #request: Request;
  readonly #server: Server<undefined>;
  #peer: string | null | undefined;

  constructor(request: Request, server: Server<undefined>) {
    this.#request = request;
    this.#server = server;
    if (request.method !== 'GET') this.#look();
  }

  get peer(): string | undefined {
    if (this.#peer === undefined) this.#look();
    return this.#peer ?? undefined;
  }

  #look(): void {
    this.#peer = this.#server.requestIP(this.#request)?.address ?? null;
  }
}

/** HTTP/1.0 clients, such as simple health checks, may name no host. */
const withAbsoluteUrl = (request: Request, config: Config): Request =>
  request.url.startsWith('http') ? request : new Request(config.baseUrl + request.url, request);

/** Says where the service is: in the log for machines, on standard error for the person who started it. */
function announce({ config, log }: Context): void {
  log.info({ url: config.baseUrl, host: config.host, port: config.port }, 'Latchkey is ready');
  for (const warning of settingsWarnings(config, unknownSettings())) log.warn(warning);
  process.stderr.write(nextSteps(config));
}

function nextSteps({ baseUrl, devMailbox }: Config): string {
  const mails = devMailbox ? `  Mails:    ${baseUrl}/dev/mailbox (until LATCHKEY_SMTP_URL is set)\n` : '';
  return `
Latchkey is ready at ${baseUrl}

  Sign in:  ${baseUrl}/login
${mails}  Terminal: npx latchkey login --server ${baseUrl}
  API:      ${baseUrl}/docs

`;
}
