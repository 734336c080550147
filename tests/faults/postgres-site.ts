// Three nodes on a PostgreSQL server with a standby, which they name in different orders. Every node is behind a proxy, and has
// others between itself and the database.

import { randomBytes } from 'node:crypto';
import postgres from 'postgres';
import { type FaultProxy, startFaultProxy } from '#support/fault-proxy.ts';
import type { Random } from '#support/random.ts';
import { startReplicatedPostgres } from '#support/replicated-postgres.ts';
import { temporaryDirectory } from '#support/service.ts';
import { startSmtp } from '#support/smtp.ts';
import { type FaultNode, startFaultNode } from './node.ts';
import {
  connectionFaults,
  type Fault,
  faultOf,
  mailFaults,
  nodeFaults,
  type Site,
  settingsWith,
} from './site.ts';

const nodeCount = 3;
const diskSize = '384m';
const hourMs = 3_600_000;
/** How many connections there are for all nodes together, while there are too few. */
const scarceConnections = 3;

type TestDatabase = Awaited<ReturnType<typeof createDatabase>>;

async function createDatabase() {
  const servers = await startReplicatedPostgres({ diskSize });
  const both = servers.url('primary', 'standby');
  const database = both.slice(both.lastIndexOf('/') + 1);
  const role = 'latchkey_faults';
  const password = randomBytes(16).toString('hex');
  /** Runs a statement as an administrator, on the server that accepts writes. */
  const administer = async (text: string): Promise<void> => {
    const admin = postgres(`${both}?target_session_attrs=primary`, { max: 1, onnotice: () => {} });
    await admin.unsafe(text).finally(() => admin.end());
  };
  await administer(`CREATE ROLE ${role} LOGIN PASSWORD '${password}'`);
  await administer(`ALTER DATABASE ${database} OWNER TO ${role}`);
  return {
    servers,
    /** Whose connections can be limited, which those of an administrator cannot. */
    role,
    administer,
    /** Those of the primary and of the standby. */
    ports: [servers.portOf('primary'), servers.portOf('standby')] as const,
    /** The address of both servers through these ports, in this order. */
    url: (first: number, second: number) =>
      `postgres://${role}:${password}@127.0.0.1:${first},127.0.0.1:${second}/${database}`,
  };
}

function databaseFaults({ servers, administer, role }: TestDatabase): Fault[] {
  const mayRepeatMails = true;
  const isPossible = () => servers.hasPrimary();
  const { disk } = servers;
  const free = async () => {
    disk?.free();
    await servers.startIfEnded();
  };
  return [
    { name: 'kill -9 of the database', start: () => servers.crash(), end: () => {}, mayRepeatMails },
    {
      name: 'kill -9 of the primary, promotion of the standby',
      start: () => servers.killPrimary(),
      end: () => servers.promoteStandby(),
      ...{ mayRepeatMails, isPossible },
    },
    // Only root can mount one.
    ...(disk
      ? [{ name: 'full disk of the database', start: disk.fill, end: free, mayRepeatMails, isPossible }]
      : []),
    {
      name: 'database out of connections',
      start: async () => {
        await administer(`ALTER ROLE ${role} CONNECTION LIMIT ${scarceConnections}`);
        await administer(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${role}'`);
      },
      end: () => administer(`ALTER ROLE ${role} CONNECTION LIMIT -1`),
      mayRepeatMails,
    },
  ];
}

/** The clock of one node jumps, while the others are right. */
const clockFaults = (pick: () => FaultNode): Fault[] =>
  [hourMs, -hourMs].map((aheadMs) =>
    faultOf(
      pick,
      `clock of a node an hour ${aheadMs > 0 ? 'ahead' : 'back'}`,
      (node) => node.setClock(aheadMs),
      (node) => node.setClock(0),
    ),
  );

export async function openPostgresSite(random: Random): Promise<Site> {
  const smtp = await startSmtp();
  const database = await createDatabase();
  const env = settingsWith(smtp);
  const started = await Promise.all(
    Array.from({ length: nodeCount }, async (_, index) => {
      const proxies = await Promise.all(database.ports.map(startFaultProxy));
      const [primary, standby] = proxies.map(({ port }) => port) as [number, number];
      const node = await startFaultNode({
        name: `n${index}`,
        directory: temporaryDirectory(),
        databaseUrl: index === 0 ? database.url(primary, standby) : database.url(standby, primary),
        env,
      });
      const disturb: FaultProxy['disturb'] = (how) => {
        for (const proxy of proxies) proxy.disturb(how);
      };
      return { node, link: { disturb } };
    }),
  );
  const pick = () => random.pick(started).node;
  return {
    nodes: started.map(({ node }) => node),
    smtp,
    faults: [
      ...nodeFaults(pick),
      ...clockFaults(pick),
      ...connectionFaults('between a node and the database', () => random.pick(started).link, true),
      ...databaseFaults(database),
      ...mailFaults(smtp),
    ],
    settings: () => ({ ...started[0]!.node.running().env, DATABASE_URL: database.url(...database.ports) }),
    close: () => database.servers.stop(),
  };
}
