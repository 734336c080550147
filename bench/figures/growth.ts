// Requests with ten thousand accounts up to millions of them.

import { openDatabase } from '../../packages/server/src/platform/database/database.ts';
import { runOperator } from '../../tests/support/service.ts';
import { storeName } from '../support/cells.ts';
import { baseUrl, type Cluster, openLarge, startCluster } from '../support/cluster.ts';
import { type Case, measureGrowth } from '../support/growth.ts';
import { putUnderLoad, type Requests } from '../support/load.ts';
import type { Figure, Measurement } from '../support/report.ts';
import { roundSeconds } from '../support/rounds.ts';
import { type Stand, tokensInTurn } from '../support/stand.ts';
import { emailAt } from '../support/store.ts';
import { kinds, type Place } from '../table/kinds.ts';
import { addLinks, browser, Passkeys } from '../table/people.ts';

/** Filling PostgreSQL with three million accounts takes minutes; the file of a million on SQLite has 0.9 GB. */
const accountsOn = {
  sqlite: [10_000, 100_000, 1_000_000],
  postgres: [10_000, 100_000, 1_000_000, 3_000_000],
} as const;
const asked = ['GET /me', 'POST /introspect', 'POST /refresh'];
const signIns = 500;
const pages = 1_000;
/** The longest that the sign-ins of a round may take. */
const signInSeconds = 30;

async function placeOf({ databaseUrl, keys, ring, sessions }: Stand): Promise<Place> {
  const settings = { DATABASE_URL: databaseUrl, LATCHKEY_KEYS: ring };
  const { stdout } = await runOperator(settings, 'services', 'create', 'boards', '--may', 'operate');
  const db = await openDatabase(databaseUrl, { log: { warn: () => undefined }, poolSize: 2 });
  const service = `Basic ${btoa(stdout.trim().split('\n').at(-1)!)}`;
  return { db, keys, sessions, passkeys: new Passkeys(baseUrl), service };
}

/** Sign-ins by link to accounts spread over the whole database. */
async function linksOf({ db, keys, sessions }: Place): Promise<Requests> {
  const accounts = Array.from({ length: signIns }, (_, index) => Math.floor((index * sessions) / signIns));
  const tokens = await db.transaction((tx) => addLinks(tx, keys, accounts));
  const list = tokens.map((token) => ({
    ...{ method: 'POST', path: '/api/v1/auth/magic_link/verify', headers: browser },
    body: JSON.stringify({ token }),
  }));
  return { mode: 'once', list };
}

/** Pages of the list of accounts that operators read, spread over the whole list. */
function pagesOf({ sessions, service }: Place): Requests {
  const list = Array.from({ length: pages }, (_, index) => {
    const after = emailAt(Math.floor((index * sessions) / pages));
    const path = `/api/v1/auth/users?cursor=${Buffer.from(after).toString('base64url')}`;
    return { method: 'GET', path, headers: { Authorization: service } };
  });
  return { mode: 'turns', list };
}

/** A search that finds nobody: the most that one page can cost. */
const vainSearch = ({ service }: Place): Requests => ({
  mode: 'turns',
  list: [{ method: 'GET', path: '/api/v1/auth/users?search=nobody', headers: { Authorization: service } }],
});

async function casesOf({ server, ...stand }: Stand): Promise<Case[]> {
  const place = await placeOf({ server, ...stand });
  const size = stand.sessions;
  const expected = { status: 200 };
  const inTurn = kinds
    .filter(({ name }) => asked.includes(name))
    .map(({ name, prepare }) => ({
      ...{ request: name, size },
      run: async () =>
        putUnderLoad({
          server,
          requests: await prepare(place, tokensInTurn),
          seconds: roundSeconds,
          expected,
        }),
    }));
  const signIn = async () =>
    putUnderLoad({ server, requests: await linksOf(place), seconds: signInSeconds, expected });
  const lists = Object.entries({ 'GET /users': pagesOf(place), 'GET /users?search=': vainSearch(place) });
  const ofOperators = lists.map(([request, requests]) => ({
    ...{ request, size },
    run: async () => putUnderLoad({ server, requests, seconds: roundSeconds, expected }),
  }));
  return [...inTurn, ...ofOperators, { request: 'POST /magic_link/verify', size, run: signIn }];
}

async function measure(cluster?: Cluster): Promise<Measurement> {
  const dialect = cluster ? 'postgres' : 'sqlite';
  const stands: Stand[] = [];
  for (const accounts of accountsOn[dialect]) stands.push(await openLarge(accounts, cluster));
  const cases = (await Promise.all(stands.map(casesOf))).flat();
  const what = `Requests by accounts, ${storeName[dialect]}`;
  const ours = cluster ? [cluster.pid] : [];
  const measured = await measureGrowth(cases, { what, grows: 'accounts', ours });
  await Promise.all(stands.map(({ server }) => server.stop()));
  return measured;
}

export const growth: Figure = { name: 'growth', run: async () => [await measure()] };

export const growthPostgres: Figure = {
  name: 'growth-postgres',
  run: async () => [await measure(await startCluster())],
};
