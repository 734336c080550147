// Everything that the table measures on one store: the service, the floors and the peers, each on a database of its own.

import { copyFileSync } from 'node:fs';
import postgres from 'postgres';
import { generateKey, parseKeyRing } from '../../packages/server/src/platform/crypto/key-ring.ts';
import { openDatabase } from '../../packages/server/src/platform/database/database.ts';
import type { Dialect } from '../../packages/server/src/platform/database/executor.ts';
import { startPostgres } from '../../tests/support/postgres.ts';
import { runOperator } from '../../tests/support/service.ts';
import { putUnderLoad, type Requests, recordAnswer } from '../support/load.ts';
import type { LoadRequest } from '../support/load-request.ts';
import { cpuSecondsOfFamily, parentOf } from '../support/processes.ts';
import { roundSeconds, type Side } from '../support/rounds.ts';
import {
  type PeerName,
  peerNames,
  type RunningServer,
  refusalOf,
  startBareServer,
  startFloor,
  startPeer,
  startService,
} from '../support/service.ts';
import { sqliteUrl } from '../support/stand.ts';
import { fillStore } from '../support/store.ts';
import type { Kind, Place } from './kinds.ts';
import { Passkeys } from './people.ts';

/** Not a loopback address, so that no email is composed: sending them is no part of a request. */
const baseUrl = 'https://auth.example.com';
const passkeyAccounts = 1000;
/** Where people of the service, as an application, come back to. */
export const applicationUri = 'https://app.example/callback';
/** The longest that the requests of a round which are sent once may take. */
const onceSeconds = 30;

/** The service and the peers on one store, and a copy of the service's database for the floors. */
export interface Sides {
  readonly service: RunningServer;
  readonly servicePlace: Place;
  readonly floorPlace: Place;
  readonly peers: ReadonlyMap<PeerName, RunningServer>;
  /** Processes that belong to the measurement although this process did not start them. */
  readonly families: readonly number[];
  startFloor(kind: Kind, more: Readonly<Record<string, string>>): Promise<RunningServer>;
  stop(): Promise<void>;
}

interface Stores {
  readonly service: string;
  /** The processes of a database that has its own. */
  readonly families: readonly number[];
  /** Copies the service's database before the service opens it. */
  copy(): Promise<string>;
  empty(): Promise<string>;
}

const sqliteStores = (): Stores => {
  const service = sqliteUrl();
  return {
    service,
    families: [],
    copy: async () => {
      copyFileSync(service.slice('sqlite:'.length), `${service.slice('sqlite:'.length)}.floor`);
      return `${service}.floor`;
    },
    empty: async () => sqliteUrl(),
  };
};

async function postgresStores(): Promise<Stores> {
  const cluster = await startPostgres({ durable: true });
  const service = await cluster.createDatabase();
  const name = new URL(service).pathname.slice(1);
  const sql = postgres(cluster.url('postgres'), { max: 1, onnotice: () => undefined });
  const [backend] = await sql<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
  return {
    service,
    families: [parentOf(backend!.pid)],
    copy: async () => {
      await sql.unsafe(`CREATE DATABASE "${name}_floor" TEMPLATE "${name}"`);
      await sql.end();
      return cluster.url(`${name}_floor`);
    },
    empty: () => cluster.createDatabase(),
  };
}

export interface SidesOptions {
  /** At least four for each account that signs in. */
  readonly sessions: number;
  /** Default: all of them. */
  readonly peers?: readonly PeerName[];
  /** What starts the service. Default: as in production. */
  readonly command?: readonly string[];
}

export async function openSides(
  dialect: Dialect,
  { sessions, peers: names = peerNames, command }: SidesOptions,
): Promise<Sides> {
  const keys = generateKey();
  const settings = { LATCHKEY_BASE_URL: baseUrl, LATCHKEY_DEVICE_POLL_INTERVAL: '1' };
  const stores = dialect === 'sqlite' ? sqliteStores() : await postgresStores();
  await fillStore(stores.service, sessions);
  const passkeys = new Passkeys(baseUrl);
  const open = (url: string) => openDatabase(url, { log: { warn: () => undefined }, poolSize: 2 });
  const filling = await open(stores.service);
  await filling.transaction((tx) => passkeys.add(tx, passkeyAccounts));
  await filling.close();
  const operator = { DATABASE_URL: stores.service, LATCHKEY_KEYS: keys };
  const registered = ['boards', '--redirect', applicationUri, '--trusted'];
  const { stdout, stderr } = await runOperator(operator, 'services', 'create', ...registered);
  const credentials = stdout.trim().split('\n').at(-1)!;
  if (!credentials.startsWith('svc_')) throw new Error(`services create: ${stderr}`);
  const floorUrl = await stores.copy();

  const place = async (url: string): Promise<Place> => ({
    ...{ db: await open(url), keys: parseKeyRing(keys), sessions, passkeys },
    service: `Basic ${btoa(credentials)}`,
  });
  const [servicePlace, floorPlace] = [await place(stores.service), await place(floorUrl)];
  const service = await startService({ databaseUrl: stores.service, keys, env: settings }, command);
  const peers = new Map<PeerName, RunningServer>();
  for (const name of names) peers.set(name, await startPeer(name, await stores.empty()));
  return {
    ...{ service, servicePlace, floorPlace, peers, families: stores.families },
    startFloor: ({ floor }, more) =>
      startFloor(floor, { databaseUrl: floorUrl, keys }, { ...settings, ...more }),
    stop: async () => {
      await Promise.all([service, ...peers.values()].map((server) => server.stop()));
      await Promise.all([servicePlace.db.close(), floorPlace.db.close()]);
    },
  };
}

type Expected = { readonly status: number; readonly bytes?: number };

/** One side of a kind, which prepares its requests once or for each round. */
function sideOf(
  name: string,
  server: RunningServer,
  expected: Expected,
  prepare: () => Requests | Promise<Requests>,
  { isPreparedEachRound, families }: { isPreparedEachRound: boolean; families: readonly number[] },
): Side {
  const databaseSeconds = () => families.reduce((sum, pid) => sum + cpuSecondsOfFamily(pid), 0);
  let prepared: Requests | undefined;
  return {
    name,
    run: async () => {
      if (isPreparedEachRound) prepared = undefined;
      prepared ??= await prepare();
      const seconds = prepared.mode === 'once' ? onceSeconds : roundSeconds;
      const before = databaseSeconds();
      const sample = await putUnderLoad({ server, requests: prepared, seconds, expected });
      return { ...sample, databaseCpuSeconds: databaseSeconds() - before };
    },
  };
}

const firstOf = (requests: Requests): LoadRequest =>
  requests.mode === 'refresh'
    ? { ...requests.template, body: requests.template.body!.replace('{token}', requests.tokens[0]!) }
    : requests.list[0]!;

const answerTo = (url: string, { path, ...init }: LoadRequest) => recordAnswer(url + path, init);

/** What a peer has prepared. */
async function askPeer(
  { url }: RunningServer,
  { kind, count, mode = 'turns' }: NonNullable<Kind['peers'][PeerName]>,
): Promise<Requests> {
  const response = await fetch(`${url}/bench/${kind}?count=${count}`);
  if (!response.ok) throw new Error(`${kind}: ${response.status} ${await response.text()}`);
  const { requests: list } = (await response.json()) as { requests: LoadRequest[] };
  if (mode !== 'refresh') return { mode, list };
  const tokens = list.map(({ body }) => new URLSearchParams(body).get('refresh_token')!);
  const template = { ...list[0]!, body: list[0]!.body!.replace(tokens[0]!, '{token}') };
  return { mode, template, tokens };
}

/** The sides of a kind: `service`, `floor`, `bare` unless it is left out, and the peers that have it. */
export async function sidesOf(
  kind: Kind,
  sides: Sides,
  { withBare }: { readonly withBare: boolean },
): Promise<{ readonly list: readonly Side[]; stop(): Promise<void> }> {
  const { service, servicePlace, floorPlace } = sides;
  const { families } = sides;
  const ours = { isPreparedEachRound: kind.isPreparedEachRound ?? false, families };
  const answer = await answerTo(service.url, firstOf(await kind.prepare(servicePlace, 1)));
  const floor = await sides.startFloor(kind, refusalOf(answer));
  const floorAnswer = await answerTo(floor.url, firstOf(await kind.prepare(floorPlace, 1)));
  if (floorAnswer.status !== answer.status || floorAnswer.bytes !== answer.bytes)
    throw new Error(`the floor of ${kind.name} does not answer the same: ${difference(answer, floorAnswer)}`);

  const prepared = (place: Place) => () => kind.prepare(place, kind.count);
  const list = [
    sideOf('service', service, answer, prepared(servicePlace), ours),
    sideOf('floor', floor, answer, prepared(floorPlace), ours),
  ];
  const started = [floor];
  if (withBare) {
    const bare = await startBareServer(answer);
    started.push(bare);
    const requests = { mode: 'turns', list: [firstOf(await kind.prepare(servicePlace, 1))] } as const;
    list.push(sideOf('bare', bare, answer, () => requests, { isPreparedEachRound: false, families }));
  }
  for (const [name, peer] of sides.peers) {
    const asked = kind.peers[name];
    if (!asked) continue;
    const { status } = await answerTo(peer.url, firstOf(await askPeer(peer, { ...asked, count: 1 })));
    const isPreparedEachRound = asked.mode === 'once' || asked.mode === 'refresh';
    list.push(sideOf(name, peer, { status }, () => askPeer(peer, asked), { isPreparedEachRound, families }));
  }
  return { list, stop: async () => void (await Promise.all(started.map((server) => server.stop()))) };
}

const difference = (...answers: Awaited<ReturnType<typeof recordAnswer>>[]): string =>
  answers.map((answer) => JSON.stringify(answer)).join(' and ');
