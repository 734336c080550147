// PostgreSQL from Debian, which has `pg_dump` and `pg_restore`: npm has only the server, and `pg_dump` refuses one of a later version.

import { existsSync, globSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { spawnSync } from 'bun';
import postgres from 'postgres';
import { createPostgresServers } from './postgres-servers.ts';

const programs = globSync('/usr/lib/postgresql/*/bin/pg_dump')
  .map(dirname)
  .filter((directory) => existsSync(join(directory, 'initdb')))
  .toSorted()
  .at(-1);

/** `npm test` installs it as root on Debian. */
export const hasPgDump = programs !== undefined;

/** Starts a server of Debian's version; returns what creates an empty database on it. */
export async function startDebianPostgres(): Promise<() => Promise<string>> {
  const servers = await createPostgresServers(programs);
  await servers.initialize('debian');
  const port = await servers.start('debian', ['fsync=off']);
  let created = 0;
  return async () => {
    const name = `latchkey_${created++}`;
    const admin = postgres(servers.url(port, 'postgres'), { max: 1 });
    await admin.unsafe(`CREATE DATABASE ${name} TEMPLATE template0`);
    await admin.end();
    return servers.url(port, name);
  };
}

/** Runs a command line of the guide, whose programs are those of Debian. */
export function runPostgresProgram(...command: string[]): void {
  const { success, stderr } = spawnSync([join(programs!, command[0]!), ...command.slice(1)]);
  if (!success) throw new Error(`${command[0]}: ${stderr}`);
}
