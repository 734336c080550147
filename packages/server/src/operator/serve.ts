import type { Server } from 'bun';
import { createApp, sweepsOf, templates } from '../app.ts';
import { type Config, unknownSettings } from '../platform/config/config.ts';
import { ConfigError } from '../platform/config/config-error.ts';
import { isRunByNpx } from '../platform/config/environment.ts';
import type { Context } from '../platform/context.ts';
import { startSweeper } from '../platform/database/sweep.ts';
import type { ConnectionInfo } from '../platform/http/exchange.ts';
import type { App, Lifecycle } from '../platform/http/server.ts';
import { mailboxTransport, smtpTransport, type Transport } from '../platform/mail/transport.ts';
import { type MailWorker, startMailWorker } from '../platform/mail/worker.ts';
import { observeProcess } from '../platform/telemetry/metrics.ts';
import { settingsWarnings } from './warnings.ts';

/** How long the service waits after SIGTERM for requests in flight and mails being sent. */
const drainDeadlineMs = 10_000;
const drainPollMs = 10;
const parentPollMs = 250;

/** How long the last responses may take to leave the sockets. */
const closeGraceMs = 500;
const idleTimeoutSeconds = 30;

/** Far above every endpoint's own limit, so that the API itself refuses large bodies, with its own error. */
const maxRequestBytes = 256 * 1024 * 1024;

/**
 * Runs the service until SIGTERM or SIGINT. Resolves when the requests in flight are answered and stored; new ones get
 * a 503 until then.
 */
export async function serve(base: Omit<Context, 'wakeMailWorker' | 'stopping'>): Promise<void> {
  const { config, log } = base;
  let mailWorker: MailWorker | undefined;
  const stop = new AbortController();
  const ctx: Context = { ...base, wakeMailWorker: () => mailWorker?.wake(), stopping: stop.signal };
  observeProcess(ctx.metrics);
  const lifecycle: Lifecycle = { draining: false, inFlight: 0 };
  const app = createApp(ctx, lifecycle);

  const signal = nextSignal();
  const server = listen(config, app);
  const transport = mailTransport(config);
  if (transport) mailWorker = startMailWorker(ctx, templates, transport);
  const sweeper = startSweeper(ctx.db, sweepsOf(ctx), ctx.clock, log);
  announce(ctx);

  log.info({ signal: await signal }, 'draining');
  const deadline = Bun.sleep(drainDeadlineMs);
  lifecycle.draining = true;
  stop.abort();
  await drain(lifecycle, server);
  // A mail that is still being sent at the deadline is sent again by the worker that finds its lease expired.
  await Promise.race([mailWorker?.stop(), deadline]);
  await sweeper.stop();
  await ctx.db.close();
  log.info('stopped');
}

/** How mails leave this service; undefined where there is no way. */
function mailTransport(config: Config): Transport | undefined {
  if (config.smtpUrl) return smtpTransport(config, config.smtpUrl);
  return config.devMailbox ? mailboxTransport : undefined;
}

/** Waits for the requests in flight, then closes the server. */
async function drain(lifecycle: Lifecycle, server: Server<undefined>): Promise<void> {
  for (let waited = 0; lifecycle.inFlight > 0 && waited < drainDeadlineMs; waited += drainPollMs) {
    await Bun.sleep(drainPollMs);
  }
  await Promise.race([server.stop(), Bun.sleep(closeGraceMs)]);
  await server.stop(true);
}

/** Resolves with the first signal that stops the process. Later signals have no effect. */
const nextSignal = (): Promise<string> =>
  new Promise((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, () => resolve(name));
    if (isRunByNpx()) whenParentEnds(() => resolve('end of npx'));
  });

/** When npx is stopped, it ends its shell, which forwards no signal: the missing parent is the only sign. */
function whenParentEnds(stop: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    stop();
  }, parentPollMs);
  timer.unref();
}

/** @throws {ConfigError} when the address or port cannot be used */
function listen(config: Config, app: App): Server<undefined> {
  try {
    return Bun.serve({
      hostname: config.host,
      port: config.port,
      // Otherwise a second service could share the port, and each would get some of the requests.
      reusePort: false,
      idleTimeout: idleTimeoutSeconds,
      maxRequestBodySize: maxRequestBytes,
      development: false,
      fetch: (request, self) => app.fetch(withAbsoluteUrl(request, config), new Connection(request, self)),
    });
  } catch (error) {
    const reason =
      error instanceof Error && 'code' in error ? String(error.code) : 'the address is not valid';
    if (reason === 'EADDRINUSE') throw new ConfigError(`PORT ${config.port} is already in use.`);
    throw new ConfigError(`HOST ${config.host} cannot be used: ${reason}.`);
  }
}

/**
 * Listens for a moment, before a key file or a database is created that would stay behind if the start fails.
 * @throws {ConfigError} if the address is not available
 */
export async function requireFreePort(config: Config): Promise<void> {
  const starting = new Response(null, { status: 503, headers: { 'Retry-After': '1' } });
  await listen(config, { fetch: async () => starting.clone() as Response }).stop(true);
}

/**
 * The peer address reported by the socket. It is read at once for a request that may change something, because its
 * client may have disconnected by the time the address is stored. Other requests rarely need it, and reading it costs
 * about as much as answering them.
 */
class Connection implements ConnectionInfo {
  readonly #request: Request;
  readonly #server: Server<undefined>;
  #peer: string | null | undefined;

  constructor(request: Request, server: Server<undefined>) {
    this.#request = request;
    this.#server = server;
    if (request.method !== 'GET') this.#readPeer();
  }

  get peer(): string | undefined {
    if (this.#peer === undefined) this.#readPeer();
    return this.#peer ?? undefined;
  }

  #readPeer(): void {
    this.#peer = this.#server.requestIP(this.#request)?.address ?? null;
  }
}

/** HTTP/1.0 clients, such as simple health checks, may send no Host header. */
const withAbsoluteUrl = (request: Request, config: Config): Request =>
  request.url.startsWith('http') ? request : new Request(config.baseUrl + request.url, request);

/** Announces the service in the log, and on standard error for the person who started it. */
function announce({ config, log }: Context): void {
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
