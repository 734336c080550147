// A real PostgreSQL for tests: a temporary cluster per process, run from the binaries installed by npm, or the server
// at LATCHKEY_TEST_POSTGRES_URL (an administrator's URL).

import postgres from 'postgres';
import { createPostgresServers } from './postgres-servers.ts';

export type TestPostgres = ReturnType<typeof databases>;

const databasePrefix = 'latchkey_test_';
const dataDirectory = 'data';
const running = new Map<boolean, Promise<TestPostgres>>();

/** The server shared by all tests of this process, started by the first call. `durable` keeps fsync and autovacuum on, as in production. */
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
  return databases(adminUrl, admin);
}

async function startCluster(durable: boolean): Promise<TestPostgres> {
  const servers = await createPostgresServers();
  await servers.initialize(dataDirectory);
  // A database of a test has a few rows and lives for a few seconds: these would only cost time.
  const inProduction = durable ? 'on' : 'off';
  const settings = ['max_connections=200', 'jit=off', `autovacuum=${inProduction}`, `fsync=${inProduction}`];
  const port = await servers.start(dataDirectory, settings);
  const adminUrl = servers.url(port, 'postgres');
  // Copying the files of a database costs half of what logging its pages does.
  return databases(adminUrl, connect(adminUrl), 'STRATEGY FILE_COPY');
}

function databases(adminUrl: string, admin: postgres.Sql, strategy = '') {
  let created = 0;
  /** The address of a database on this server. */
  const url = (database: string): string => {
    const address = new URL(adminUrl);
    address.pathname = `/${database}`;
    return address.href;
  };
  return {
    url,
    /** Creates an empty database, or a copy of a database that nobody is connected to, and returns its address. */
    createDatabase: async (copyOf?: string): Promise<string> => {
      const name = `${databasePrefix}${process.pid}_${crypto.randomUUID().slice(0, 8)}_${created++}`;
      const template = copyOf === undefined ? 'template0' : new URL(copyOf).pathname.slice(1);
      await admin.unsafe(`CREATE DATABASE ${name} TEMPLATE ${template} ${strategy}`);
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
