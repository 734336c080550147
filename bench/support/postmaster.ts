import postgres from 'postgres';
import { parentOf } from './processes.ts';

/** The process that started all others of a PostgreSQL server. */
export async function postmasterOf(databaseUrl: string): Promise<number> {
  const sql = postgres(databaseUrl, { max: 1 });
  const [backend] = await sql<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
  const postmaster = parentOf(backend!.pid);
  await sql.end();
  return postmaster;
}
