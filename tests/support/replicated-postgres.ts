// A primary and its standby, which applies every transaction before the primary acknowledges it.

import postgres from 'postgres';
import { childrenOf, createPostgresServers, isRunning } from './postgres-servers.ts';
import { until } from './until.ts';

export type Role = 'primary' | 'standby';

const database = 'latchkey';

/** Files instead of shared memory, which a server that is killed would leave behind. */
const common = ['max_connections=200', 'fsync=off', 'dynamic_shared_memory_type=mmap'];

/** For a small disk. The standby has all of the log at once. */
const smallLog = ['wal_keep_size=32MB', 'max_wal_size=64MB', 'min_wal_size=32MB'];

/** Starts two servers of its own, which no other test uses. The primary may have a small disk, such as `256m`. */
export async function startReplicatedPostgres({ diskSize }: { readonly diskSize?: string } = {}) {
  const servers = await createPostgresServers();
  const disk = diskSize === undefined ? undefined : servers.mountDisk('primary', diskSize);
  await servers.initialize('primary');
  servers.copy('primary', 'standby');

  const log = diskSize === undefined ? ['wal_keep_size=256MB'] : smallLog;
  const replication = ['synchronous_standby_names=standby', 'synchronous_commit=remote_apply'];
  const primaryPort = await servers.start('primary', [...common, ...replication, ...log]);
  const source = `host=127.0.0.1 port=${primaryPort} user=postgres password=${servers.password} application_name=standby`;
  servers.write('standby', 'postgresql.auto.conf', `primary_conninfo = '${source}'\n`);
  servers.write('standby', 'standby.signal', '');
  const standbyPort = await servers.start('standby', common);

  const admin = postgres(servers.url(primaryPort, 'postgres'), { max: 1 });
  await admin.unsafe(`CREATE DATABASE ${database} TEMPLATE template0`);
  await admin.end();

  const ports: Record<Role, number> = { primary: primaryPort, standby: standbyPort };
  let hasPrimary = true;
  const kill = (name: Role): number[] => {
    const pid = servers.pidOf(name);
    // Stopped, it starts no other process meanwhile.
    process.kill(pid, 'SIGSTOP');
    const all = [pid, ...childrenOf(pid)];
    for (const one of all) process.kill(one, 'SIGKILL');
    return all;
  };
  return {
    /** The address of an empty database on both servers, with those that started in these roles in this order. */
    url: (...order: Role[]): string => {
      const hosts = order.map((role) => `127.0.0.1:${ports[role]}`).join(',');
      return `postgres://postgres:${servers.password}@${hosts}/${database}`;
    },
    portOf: (role: Role): number => ports[role],
    /** That of the primary, if it has one of its own. */
    disk,
    /** Whether the server that started as the primary still is. */
    hasPrimary: () => hasPrimary,
    /** Starts the primary again if it has ended by itself. */
    startIfEnded: async (): Promise<void> => {
      if (!servers.isRunning('primary')) await servers.startAgain('primary');
    },
    /** Kills all processes of the primary with SIGKILL. */
    killPrimary: (): void => {
      hasPrimary = false;
      kill('primary');
    },
    /** Kills the server that accepts writes in the same way, and starts it again at its address. */
    crash: async (): Promise<void> => {
      const name = hasPrimary ? 'primary' : 'standby';
      const killed = kill(name);
      await until(() => !killed.some(isRunning), 'the end of all its processes');
      await servers.startAgain(name);
    },
    /** Makes the standby a primary. Resolves when it accepts writes. */
    promoteStandby: (): Promise<void> => servers.control('standby', 'promote'),
    /** Stops those that still run: after faults one may have ended by itself, which must not hide why a test failed. */
    stop: async (): Promise<void> => {
      const left = (['primary', 'standby'] as const).filter((name) => servers.isRunning(name));
      await Promise.all(left.map((name) => servers.control(name, '--mode=immediate', 'stop')));
    },
  };
}
