// An account with ten thousand sessions and one with a hundred thousand events, next to accounts with a few of each.

import { openDatabase } from '../../packages/server/src/platform/database/database.ts';
import type { Database } from '../../packages/server/src/platform/database/executor.ts';
import { sealChain } from '../../packages/server/src/security-log/events/chain.ts';
import {
  findChain,
  listEventsAfter,
  updateChain,
} from '../../packages/server/src/security-log/events/store.ts';
import { copyRow } from '../support/bulk.ts';
import { storeName } from '../support/cells.ts';
import { type Cluster, openLarge, startCluster } from '../support/cluster.ts';
import { type Case, type Measured, measureGrowth } from '../support/growth.ts';
import { mePath, putUnderLoad, withTokens } from '../support/load.ts';
import type { Figure, Measurement } from '../support/report.ts';
import { roundSeconds } from '../support/rounds.ts';
import { type Prepare, runInSequence } from '../support/sequence.ts';
import { bearer, type Stand } from '../support/stand.ts';
import { accessTokenOf, sessionIdAt, userIdAt } from '../support/store.ts';
import { addLinks, browser } from '../table/people.ts';

const accounts = 10_000;
/** How often each of these accounts signs in before: it then has as many events, and one session more. */
const few = 3;
const manySessions = 10_000;
const manyEvents = 100_000;
/** A page has as many entries for each account. */
const pageSize = few;

/** Each write of a round goes to another small account, or again to the large one. */
const writes = 50;
const small = Array.from({ length: writes }, (_, index) => 100 + index * 50);
const [ofManySessions, ofManyEvents] = [20, 40];
const again = (account: number): number[] => Array.from({ length: writes }, () => account);

const api = '/api/v1/auth';

interface Place {
  readonly stand: Stand;
  readonly db: Database;
}

async function ask(url: string, init: RequestInit, status: number): Promise<void> {
  const response = await fetch(url, init);
  await response.arrayBuffer();
  if (response.status !== status) throw new Error(`${url} was answered ${response.status}`);
}

const signIn =
  ({ db, stand: { keys, server } }: Place, account: number): Prepare =>
  async () => {
    const [token] = await db.transaction((tx) => addLinks(tx, keys, [account]));
    const init = { method: 'POST', headers: browser, body: JSON.stringify({ token }) };
    return () => ask(`${server.url}${api}/magic_link/verify`, init, 200);
  };

/** Undoes the last `signOut` of an account. */
const undoSignOut = ({ db }: Place, account: number): Promise<unknown> =>
  db.single.run(
    `UPDATE users SET session_epoch = (SELECT session_epoch FROM sessions WHERE id = '${sessionIdAt(account)}')
      WHERE id = '${userIdAt(account)}'`,
    [],
  );

const signOut =
  (place: Place, account: number): Prepare =>
  async () => {
    await undoSignOut(place, account);
    const { server, keys } = place.stand;
    const init = { method: 'DELETE', ...bearer(accessTokenOf(keys, account)) };
    return () => ask(`${server.url}${api}/logout`, init, 204);
  };

/**
 * Copies the session of an account, with ids of the same length. The copies are newer than all sign-ins in a browser, which
 * the next one is compared with.
 */
const addSessions = ({ db }: Place, account: number): Promise<void> =>
  copyRow(db.single, 'sessions', {
    ...{ id: sessionIdAt(account), count: manySessions },
    differences: {
      id: 'substr(id, 1, 20) || cast(100000 + n AS text)',
      created_at: 'created_at + n * 1000',
    },
  });

/** Continues the log of an account with copies of its last event, and seals its end. */
async function addEvents({ db, stand: { keys } }: Place, account: number): Promise<void> {
  const user_id = userIdAt(account);
  const [chain] = await findChain(db.read, { user_id });
  const { head_seq, oldest_at } = chain!;
  const [last] = await listEventsAfter(db.read, { user_id, after_seq: head_seq - 1, limit: 1 });
  await copyRow(db.single, 'events', {
    ...{ id: last!.id, count: manyEvents },
    differences: { id: 'substr(id, 1, 20) || cast(100000 + n AS text)', seq: 'seq + n' },
  });
  const next = { ...chain!, head_seq: head_seq + manyEvents, oldest_at };
  await updateChain(db.single, { ...next, seal: sealChain(keys, next) });
}

const cursorOf = (time: number, id: string): string => Buffer.from(`${time}:${id}`).toString('base64url');

/** The cursor of the last page of an account's sessions. */
async function lastSessions({ db }: Place, account: number): Promise<string> {
  const [row] = await db.read.run<{ created_at: number; id: string }>(
    `SELECT created_at, id FROM sessions WHERE user_id = '${userIdAt(account)}'
      ORDER BY created_at, id LIMIT 1 OFFSET ${pageSize}`,
    [],
  );
  return cursorOf(row!.created_at, row!.id);
}

async function openPlace(cluster?: Cluster): Promise<Place> {
  const stand = await openLarge(accounts, cluster);
  const db = await openDatabase(stand.databaseUrl, { log: { warn: () => undefined }, poolSize: 2 });
  const place = { stand, db };
  for (const account of [...small, ofManySessions, ofManyEvents])
    for (let count = 0; count < few; count++) await (await signIn(place, account)())();
  await addSessions(place, ofManySessions);
  await addEvents(place, ofManyEvents);
  return place;
}

const read = (place: Place, { request, size }: Measured, account: number, path: string): Case => ({
  ...{ request, size },
  run: async () => {
    await undoSignOut(place, account);
    const { server, keys } = place.stand;
    const requests = withTokens(path, [accessTokenOf(keys, account)]);
    return putUnderLoad({ server, requests, seconds: roundSeconds, expected: { status: 200 } });
  },
});

const write = (
  place: Place,
  { request, size }: Measured,
  accounts: readonly number[],
  operation: typeof signIn,
): Case => ({
  ...{ request, size },
  run: () =>
    runInSequence(
      place.stand.server,
      accounts.map((account) => operation(place, account)),
    ),
});

async function sessionCases(place: Place, size: number, accounts: readonly number[]): Promise<Case[]> {
  const [account = 0] = accounts;
  const page = `${api}/sessions?limit=${pageSize}`;
  const lastPage = `${page}&cursor=${await lastSessions(place, account)}`;
  return [
    read(place, { request: 'GET /me', size }, account, mePath),
    read(place, { request: 'GET /sessions, first page', size }, account, page),
    read(place, { request: 'GET /sessions, last page', size }, account, lastPage),
    write(place, { request: 'POST /magic_link/verify', size }, accounts, signIn),
    write(place, { request: 'DELETE /logout, all', size }, accounts, signOut),
  ];
}

function eventCases(place: Place, size: number, accounts: readonly number[]): Case[] {
  const [account = 0] = accounts;
  const page = `${api}/events?limit=${pageSize}`;
  const lastPage = `${page}&cursor=${cursorOf(pageSize + 1, 'x')}`;
  return [
    read(place, { request: 'GET /events, first page', size }, account, page),
    read(place, { request: 'GET /events, last page', size }, account, lastPage),
    write(place, { request: 'POST /magic_link/verify', size }, accounts, signIn),
  ];
}

async function measure(cluster?: Cluster): Promise<Measurement[]> {
  const place = await openPlace(cluster);
  const store = storeName[cluster ? 'postgres' : 'sqlite'];
  const ours = cluster ? [cluster.pid] : [];
  const bySessions = [
    ...(await sessionCases(place, few + 1, small)),
    ...(await sessionCases(place, manySessions, again(ofManySessions))),
  ];
  const byEvents = [...eventCases(place, few, small), ...eventCases(place, manyEvents, again(ofManyEvents))];
  const measured = [
    await measureGrowth(bySessions, {
      what: `An account by its sessions, ${store}`,
      grows: 'sessions',
      ours,
    }),
    await measureGrowth(byEvents, { what: `An account by its events, ${store}`, grows: 'events', ours }),
  ];
  await Promise.all([place.stand.server.stop(), place.db.close()]);
  return measured;
}

export const largeAccount: Figure = {
  name: 'large-account',
  run: async () => [...(await measure()), ...(await measure(await startCluster()))],
};
