// The service on a large database, and a PostgreSQL server whose CPU time is measured.

import postgres from 'postgres';
import { startPostgres, type TestPostgres } from '../../tests/support/postgres.ts';
import { fillInBulk } from './bulk.ts';
import { parentOf } from './processes.ts';
import { type Stand, sqliteUrl, standOn } from './stand.ts';

export interface Cluster extends Pick<TestPostgres, 'createDatabase'> {
  /** The process that started all others of the server. */
  readonly pid: number;
}

/** Starts PostgreSQL as in production. */
export async function startCluster(): Promise<Cluster> {
  const { createDatabase, url } = await startPostgres({ durable: true });
  const sql = postgres(url('postgres'), { max: 1 });
  const [backend] = await sql<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
  const pid = parentOf(backend!.pid);
  await sql.end();
  return { createDatabase, pid };
}

/** What autovacuum does in time, now. */
export async function vacuum(databaseUrl: string): Promise<void> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
  await sql`VACUUM ANALYZE`;
  await sql.end();
}

/** Not a loopback address, so that no email is composed: sending them is no part of a request. */
export const baseUrl = 'https://auth.example.com';

/** Starts the service with this number of accounts, each with one session: on this server, or on SQLite without one. */
export async function openLarge(accounts: number, cluster?: Cluster): Promise<Stand> {
  const databaseUrl = cluster ? await cluster.createDatabase() : sqliteUrl();
  await fillInBulk(databaseUrl, accounts);
  const stand = await standOn(databaseUrl, accounts, { env: { LATCHKEY_BASE_URL: baseUrl } });
  return cluster ? { ...stand, server: { ...stand.server, databasePid: cluster.pid } } : stand;
}
