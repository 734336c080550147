// A real PgBouncer in transaction mode in front of the PostgreSQL of the tests.

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawnSync } from 'bun';
import { removeAtExit, spawn } from './cleanup.ts';
import { reservePort } from './reserved-port.ts';
import { until } from './until.ts';

export interface PgBouncer {
  /** The address of the same database through the pooler. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Fewer than the connections of one service, so that its transactions must share them. */
const serverConnections = 4;

const program = Bun.which('pgbouncer') ?? Bun.which('/usr/sbin/pgbouncer');

/** `npm test` installs it as root on Debian. */
export const hasPgBouncer = program !== null;

/** @throws {Error} where PgBouncer is not installed */
export async function startPgBouncer(databaseUrl: string): Promise<PgBouncer> {
  if (!program) throw new Error('the tests need PgBouncer: install it');
  const database = new URL(databaseUrl);
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-pgbouncer-'));
  removeAtExit(directory);
  const users = join(directory, 'users.txt');
  writeFileSync(users, `"${database.username}" "${decodeURIComponent(database.password)}"\n`);
  const port = reservePort();
  const settings = join(directory, 'pgbouncer.ini');
  writeFileSync(
    settings,
    `[databases]
* = host=${database.hostname} port=${database.port || 5432}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = plain
auth_file = ${users}
pool_mode = transaction
default_pool_size = ${serverConnections}
ignore_startup_parameters = statement_timeout, lock_timeout, idle_in_transaction_session_timeout
`,
  );
  // It refuses to run as root.
  const isRoot = process.getuid?.() === 0;
  if (isRoot) spawnSync(['chown', '-R', 'nobody', directory]);
  const child = spawn([program, ...(isRoot ? ['--user=nobody'] : []), settings], {
    cwd: '/',
    stdout: 'ignore',
    stderr: 'ignore',
  });
  await until(async () => child.exitCode !== null || (await accepts(port)), 'PgBouncer');
  if (child.exitCode !== null) throw new Error(`PgBouncer ended with ${child.exitCode}`);
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${port}`;
  return {
    url: url.href,
    stop: async () => {
      child.kill('SIGTERM');
      await child.exited;
    },
  };
}

async function accepts(port: number): Promise<boolean> {
  try {
    const socket = await Bun.connect({ hostname: '127.0.0.1', port, socket: { data() {} } });
    socket.end();
    return true;
  } catch {
    return false;
  }
}
