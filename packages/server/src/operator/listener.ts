import type { Server } from 'bun';
import { type Config, sqliteFileOf } from '../platform/config/config.ts';
import { ConfigError } from '../platform/config/config-error.ts';
import type { App, ConnectionInfo } from '../platform/http/server.ts';
import { codeOf } from '../platform/telemetry/redact.ts';

/** Longer than proxies keep idle connections to a node: otherwise one sends a request just when the node closes, and answers 502. */
const idleTimeoutSeconds = 180;

/** Far above every endpoint's own limit, so that the API itself refuses large bodies, with its own error. */
const maxRequestBytes = 256 * 1024 * 1024;

type Address = Pick<Config, 'host' | 'port' | 'databaseUrl'>;

/**
 * Listens on the address of the settings; port 0 takes a free port. Processes on PostgreSQL share a port with each other, because
 * they may share a database. A port that another program uses is refused on both databases.
 * @throws {ConfigError} when the address or port cannot be used
 */
export function listen(address: Address, handle: App['fetch']): Server<undefined> {
  const { host, port } = address;
  try {
    return Bun.serve({
      hostname: host,
      port,
      reusePort: sqliteFileOf(address) === undefined,
      idleTimeout: idleTimeoutSeconds,
      maxRequestBodySize: maxRequestBytes,
      development: false,
      fetch: (request, self) => handle(request, connectionOf(request, self)),
    });
  } catch (error) {
    const reason = codeOf(error) || 'the address is not valid';
    if (reason === 'EADDRINUSE') {
      throw new ConfigError(
        `PORT ${port} is already in use. Set PORT to a free one, or end the program that uses it.`,
      );
    }
    throw new ConfigError(`HOST ${host} cannot be used: ${reason}.`);
  }
}

/**
 * Listens for a moment, before a key file or a database is created that would stay behind if the start fails. Not on PostgreSQL:
 * nothing would stay behind, and a process that shares the port would lose requests to this one.
 * @throws {ConfigError} if the address is not available
 */
export async function claimPort(address: Address): Promise<void> {
  if (sqliteFileOf(address) === undefined) return;
  const starting = new Response(null, { status: 503, headers: { 'Retry-After': '1' } });
  await listen(address, async () => starting.clone() as Response).stop(true);
}

const connectionOf = (request: Request, server: Server<undefined>): ConnectionInfo => ({
  get peer() {
    return server.requestIP(request)?.address;
  },
});
