// Everything that the table measures on one store: the service, the floors and the peers, each on a database of its own.

import { copyFileSync } from 'node:fs';
import { generateKey, parseKeyRing } from '../../packages/server/src/platform/crypto/primitives.ts';
import { openDatabase } from '../../packages/server/src/platform/database/database.ts';
import type { Dialect } from '../../packages/server/src/platform/database/executor.ts';
import { runOperatorProcess } from '../../tests/support/service.ts';
import { baseUrl, startCluster, vacuum } from '../support/cluster.ts';
import { type Load, type LoadRequest, putUnderLoad, type Requests, recordAnswer } from '../support/load.ts';
import { roundSeconds, type Side } from '../support/rounds.ts';
import {
  type PeerName,
  peerNames,
  type RunningServer,
  refusalOf,
  startFloor,
  startPeer,
  startService,
} from '../support/service.ts';
import { sqliteUrl } from '../support/stand.ts';
import { fillStore } from '../support/store.ts';
import type { Kind, Place } from './kinds.ts';
import { Passkeys } from './people.ts';

const passkeyAccounts = 1000;
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
  /** What PostgreSQL does within minutes, at once: it removes rows that no longer count, and learns how many there are. */
  tidy(): Promise<void>;
  stop(): Promise<void>;
}

interface Stores {
  readonly service: string;
  /** The processes of a database that has its own. */
  readonly families: readonly number[];
  /** Copies the service's database before the service opens it. */
  copy(): Promise<string>;
  empty(): Promise<string>;
  tidy(): Promise<void>;
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
    tidy: async () => undefined,
  };
};

async function postgresStores(): Promise<Stores> {
  const { createDatabase, pid } = await startCluster();
  const databases: string[] = [];
  const create = async (copyOf?: string): Promise<string> => {
    const database = await createDatabase(copyOf);
    databases.push(database);
    return database;
  };
  const service = await create();
  return {
    service,
    families: [pid],
    copy: () => create(service),
    empty: () => create(),
    tidy: async () => {
      for (const database of databases) await vacuum(database);
    },
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
  // A process closes the file, which is copied next.
  const { stdout, stderr } = await runOperatorProcess(operator, 'services', 'create', 'boards');
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
    tidy: stores.tidy,
    stop: async () => {
      await Promise.all([service, ...peers.values()].map((server) => server.stop()));
      await Promise.all([servicePlace.db.close(), floorPlace.db.close()]);
    },
  };
}

/** One side of a kind, which prepares its requests once or for each round. */
function sideOf(
  name: string,
  server: Load['server'],
  expected: Load['expected'],
  prepare: () => Requests | Promise<Requests>,
  isPreparedEachRound: boolean,
): Side {
  let prepared: Requests | undefined;
  return {
    name,
    run: async () => {
      if (isPreparedEachRound) prepared = undefined;
      prepared ??= await prepare();
      const seconds = prepared.mode === 'once' ? onceSeconds : roundSeconds;
      return putUnderLoad({ server, requests: prepared, seconds, expected });
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

/** The sides of a kind: `service`, `floor` and the peers that have it. */
export async function sidesOf(
  kind: Kind,
  sides: Sides,
): Promise<{ readonly list: readonly Side[]; stop(): Promise<void> }> {
  const { service, servicePlace, floorPlace } = sides;
  const isPreparedEachRound = kind.isPreparedEachRound ?? false;
  const measured = (server: RunningServer): Load['server'] =>
    sides.families[0] === undefined ? server : { ...server, databasePid: sides.families[0] };
  const answer = await answerTo(service.url, firstOf(await kind.prepare(servicePlace, 1)));
  const floor = await sides.startFloor(kind, refusalOf(answer));
  const floorAnswer = await answerTo(floor.url, firstOf(await kind.prepare(floorPlace, 1)));
  if (floorAnswer.status !== answer.status || floorAnswer.bytes !== answer.bytes)
    throw new Error(`the floor of ${kind.name} does not answer the same: ${difference(answer, floorAnswer)}`);

  const prepared = (place: Place) => () => kind.prepare(place, kind.count);
  const list = [
    sideOf('service', measured(service), answer, prepared(servicePlace), isPreparedEachRound),
    sideOf('floor', measured(floor), answer, prepared(floorPlace), isPreparedEachRound),
  ];
  for (const [name, peer] of sides.peers) {
    const asked = kind.peers[name];
    if (!asked) continue;
    const { status } = await answerTo(peer.url, firstOf(await askPeer(peer, { ...asked, count: 1 })));
    const isPrepared = asked.mode === 'once' || asked.mode === 'refresh';
    list.push(sideOf(name, measured(peer), { status }, () => askPeer(peer, asked), isPrepared));
  }
  return { list, stop: () => floor.stop() };
}

const difference = (...answers: Awaited<ReturnType<typeof recordAnswer>>[]): string =>
  answers.map((answer) => JSON.stringify(answer)).join(' and ');
