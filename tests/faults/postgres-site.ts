// Three nodes on a PostgreSQL server with a standby. Every node is behind a proxy, and has others between
// itself and the database.

import { randomBytes } from 'node:crypto';
import postgres from 'postgres';
import { type Disturbance, startFaultProxy } from '../support/fault-proxy.ts';
import type { Random } from '../support/random.ts';
import {
  type ReplicatedPostgres,
  type Role,
  startReplicatedPostgres,
} from '../support/replicated-postgres.ts';
import { temporaryDirectory } from '../support/service.ts';
import { startSmtp } from '../support/smtp.ts';
import { clockFaults, fault, mailFaults, nodeFaults } from './common-faults.ts';
import { ProcessNode } from './process-node.ts';
import { settingsFor } from './settings.ts';
import type { Fault, Site } from './site.ts';

const nodeCount = 3;
const diskSize = '384m';
const disturbances: readonly Disturbance[] = ['cut', 'hang', 'slow', 'reorder', 'half close'];
/** How many connections there are for all nodes together, while there are too few. */
const scarceConnections = 3;

type Ports = Readonly<Record<Role, number>>;

interface TestDatabase {
  readonly servers: ReplicatedPostgres;
  /** Whose connections can be limited, which those of an administrator cannot. */
  readonly role: string;
  readonly ports: Ports;
  /** The address of both servers through these ports. */
  url(ports: Ports): string;
  /** Runs a statement as an administrator, on the server that accepts writes. */
  administer(text: string): Promise<unknown>;
}

async function createDatabase(): Promise<TestDatabase> {
  const servers = await startReplicatedPostgres({ diskSize });
  const both = servers.url('primary', 'standby');
  const database = both.slice(both.lastIndexOf('/') + 1);
  const role = 'latchkey_faults';
  const password = randomBytes(16).toString('hex');
  const administer = async (text: string) => {
    const admin = postgres(`${both}?target_session_attrs=primary`, { max: 1, onnotice: () => {} });
    await admin.unsafe(text).finally(() => admin.end());
  };
  await administer(`CREATE ROLE ${role} LOGIN PASSWORD '${password}'`);
  await administer(`ALTER DATABASE ${database} OWNER TO ${role}`);
  return {
    servers,
    role,
    administer,
    ports: { primary: servers.portOf('primary'), standby: servers.portOf('standby') },
    url: ({ primary, standby }) =>
      `postgres://${role}:${password}@127.0.0.1:${primary},127.0.0.1:${standby}/${database}`,
  };
}

function databaseFaults({ servers, administer, role }: TestDatabase): Fault[] {
  const { disk } = servers;
  return [
    fault(
      'kill -9 of the database',
      () => servers.crash(),
      () => {},
      { mayRepeatMails: true },
    ),
    fault(
      'kill -9 of the primary, promotion of the standby',
      () => servers.killPrimary(),
      () => servers.promoteStandby(),
      { mayRepeatMails: true, isPossible: () => servers.hasPrimary() },
    ),
    ...(disk === undefined
      ? []
      : [
          fault(
            'full disk of the database',
            () => disk.fill(),
            async () => {
              disk.free();
              await servers.startIfEnded();
            },
            { mayRepeatMails: true, isPossible: () => servers.hasPrimary() },
          ),
        ]),
    fault(
      'database out of connections',
      async () => {
        await administer(`ALTER ROLE ${role} CONNECTION LIMIT ${scarceConnections}`);
        await administer(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${role}'`);
      },
      () => administer(`ALTER ROLE ${role} CONNECTION LIMIT -1`),
      { mayRepeatMails: true },
    ),
  ];
}

/** The proxies between one node and both servers. */
interface Link {
  readonly ports: Ports;
  disturb(how: Disturbance | undefined): void;
  close(): void;
}

async function startLink({ primary, standby }: Ports): Promise<Link> {
  const proxies = { primary: await startFaultProxy(primary), standby: await startFaultProxy(standby) };
  const both = Object.values(proxies);
  return {
    ports: { primary: proxies.primary.port, standby: proxies.standby.port },
    disturb: (how) => {
      for (const proxy of both) proxy.disturb(how);
    },
    close: () => {
      for (const proxy of both) proxy.close();
    },
  };
}

const linkFaults = (pick: () => Link): Fault[] =>
  disturbances.map((how) => {
    let link: Link;
    return fault(
      `between a node and the database: ${how}`,
      () => {
        link = pick();
        link.disturb(how);
      },
      () => link.disturb(undefined),
      { mayRepeatMails: true },
    );
  });

export async function openPostgresSite(random: Random): Promise<Site> {
  const smtp = await startSmtp();
  const database = await createDatabase();
  const origin = 'http://localhost:8787';
  const env = settingsFor({ origin, smtp });
  const links = await Promise.all(Array.from({ length: nodeCount }, () => startLink(database.ports)));
  const nodes = await Promise.all(
    links.map((link, index) =>
      ProcessNode.start({
        name: `n${index}`,
        directory: temporaryDirectory(),
        databaseUrl: database.url(link.ports),
        env,
        countsInMemory: false,
      }),
    ),
  );
  const pick = () => random.pick(nodes);
  return {
    nodes,
    origin,
    smtp,
    faults: [
      ...nodeFaults(pick),
      ...clockFaults(pick),
      ...linkFaults(() => random.pick(links)),
      ...databaseFaults(database),
      ...mailFaults(smtp),
    ],
    skipped: database.servers.disk ? [] : ['full disk of the database: only root can mount a small one'],
    recovered: async (anyAddress) =>
      void (await Promise.all(nodes.map((node) => node.recovered(anyAddress)))),
    settings: () => ({ ...nodes[0]!.env, DATABASE_URL: database.url(database.ports) }),
    stop: async () => {
      await Promise.all(nodes.map((node) => node.stop()));
      for (const node of nodes) node.close();
      for (const link of links) link.close();
      await database.servers.stop();
      await smtp.close();
    },
  };
}
