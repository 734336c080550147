import type { Server } from 'bun';
import type { Config } from '../platform/config/config.ts';
import { ConfigError } from '../platform/config/config-error.ts';
import type { ConnectionInfo } from '../platform/http/exchange.ts';
import type { App } from '../platform/http/server.ts';

/** Longer than proxies keep idle connections to a node: otherwise one sends a request just when the node closes, and answers 502. */
const idleTimeoutSeconds = 180;

/** Far above every endpoint's own limit, so that the API itself refuses large bodies, with its own error. */
const maxRequestBytes = 256 * 1024 * 1024;

/**
 * Listens on the address of the settings. Only workers share their port: otherwise a second service could take it, too,
 * and each would get some of the requests.
 * @throws {ConfigError} when the address or port cannot be used
 */
export function listen(config: Config, app: App, { shared }: { shared: boolean }): Server<undefined> {
  try {
    return Bun.serve({
      hostname: config.host,
      port: config.port,
      reusePort: shared,
      idleTimeout: idleTimeoutSeconds,
      maxRequestBodySize: maxRequestBytes,
      development: false,
      fetch: (request, self) => app.fetch(withAbsoluteUrl(request, config), connectionOf(request, self)),
    });
  } catch (error) {
    const reason = codeOf(error) ?? 'the address is not valid';
    if (reason === 'EADDRINUSE') throw portInUse(config);
    throw new ConfigError(`HOST ${config.host} cannot be used: ${reason}.`);
  }
}

/**
 * Listens for a moment, before a key file or a database is created that would stay behind if the start fails. Workers share their port
 * with another supervisor that starts at the same moment. So a supervisor also binds a name, which only one can hold until it ends.
 * @throws {ConfigError} if the address is not available
 */
export async function claimPort(config: Config): Promise<void> {
  if (config.workers > 1) claimName(config);
  const starting = new Response(null, { status: 503, headers: { 'Retry-After': '1' } });
  const app = { fetch: async () => starting.clone() as Response };
  await listen(config, app, { shared: false }).stop(true);
}

/** In the abstract namespace of Linux, which leaves no file. Each network namespace has its own, as it has its own ports. */
function claimName(config: Config): void {
  const unix = `\0latchkey-server ${config.host} ${config.port}`;
  try {
    Bun.listen({ unix, socket: { open: (peer) => void peer.end(), data: () => undefined } }).unref();
  } catch (error) {
    throw codeOf(error) === 'EADDRINUSE' ? portInUse(config) : error;
  }
}

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error ? String(error.code) : undefined;

const portInUse = ({ port }: Config): ConfigError =>
  new ConfigError(`PORT ${port} is already in use. Set PORT to a free one, or end the program that uses it.`);

const connectionOf = (request: Request, server: Server<undefined>): ConnectionInfo => ({
  get peer() {
    return server.requestIP(request)?.address;
  },
});

/** HTTP/1.0 clients, such as simple health checks, may send no Host header. */
const withAbsoluteUrl = (request: Request, config: Config): Request =>
  request.url.startsWith('http') ? request : new Request(config.baseUrl + request.url, request);
