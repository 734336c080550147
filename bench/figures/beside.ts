// The latency of GET /me at a steady rate, beside refreshes at another steady rate, and beside a sweep.

import { openDatabase } from '../../packages/server/src/platform/database/database.ts';
import { startPostgres } from '../../tests/support/postgres.ts';
import type { Latencies, PlannedLoad } from '../programs/steady-load.ts';
import { addDeadRows, type DeadRows } from '../support/dead-rows.ts';
import { connections, mePath, refreshPath } from '../support/load.ts';
import { watchOthers } from '../support/others.ts';
import { postmasterOf } from '../support/postmaster.ts';
import type { Figure, Finding } from '../support/report.ts';
import { median } from '../support/rounds.ts';
import { accessTokens, type Stand, sqliteUrl, standOn, tokensInTurn } from '../support/stand.ts';
import { between, quantile, startSteadyLoad } from '../support/steady-load.ts';
import { fillStore, unspentTokensOf } from '../support/store.ts';

const sessions = 100_000;
const deadRows = 1_000_000;
const asksPerSecond = 500;
const refreshesPerSecond = 1_000;
const rounds = 5;
const roundMs = 6_000;
const warmUpMs = 4_000;
const sweepPollMs = 100;
/** The service sweeps every minute. */
const sweepStartDeadlineMs = 70_000;

interface Store {
  readonly name: string;
  readonly stand: Stand;
  readonly dead: DeadRows;
  /** Processes that belong to the measurement although this process did not start them. */
  readonly ours: readonly number[];
}

const asksOf = (stand: Stand): PlannedLoad => ({
  perSecond: asksPerSecond,
  connections,
  requests: accessTokens(stand).map(
    (token) => `GET ${mePath} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  ),
});

async function refreshesOf({ databaseUrl, keys, sessions: count }: Stand): Promise<PlannedLoad> {
  const db = await openDatabase(databaseUrl, { log: { warn: () => undefined }, asIs: true, poolSize: 2 });
  const indexes = Array.from({ length: tokensInTurn }, (_, at) => Math.floor((at * count) / tokensInTurn));
  const refreshTokens = await unspentTokensOf(db.read, keys, indexes);
  await db.close();
  return { perSecond: refreshesPerSecond, connections, requests: { refreshTokens, path: refreshPath } };
}

const portOf = ({ server }: Stand): number => Number(new URL(server.url).port);

const milliseconds = (values: readonly number[]): string => values.map((value) => value.toFixed(1)).join(' ');

const quantilesOf = (latencies: readonly number[]): string =>
  `p50 ${quantile(latencies, 0.5).toFixed(2)}, p99 ${quantile(latencies, 0.99).toFixed(1)}, p99.9 ${quantile(latencies, 0.999).toFixed(1)}, slowest ${quantile(latencies, 1).toFixed(1)} ms`;

/** The finding about the requests that were planned during these periods, each a round of its own. */
function findingOf(
  what: string,
  asks: Latencies,
  periods: readonly (readonly [from: number, to: number])[],
  { atMost, othersShare, details }: { atMost: number; othersShare: number; details: readonly string[] },
): Finding {
  const parts = periods.map(([from, to]) => between(asks, from, to));
  const slow = parts.map((part) => quantile(part, 0.99));
  const all = parts.flat();
  return {
    what: `p99 of GET /me, ${asksPerSecond} a second on ${connections} connections, beside ${what}`,
    value: median(slow),
    unit: 'ms',
    promise: { atMost },
    othersShare,
    details: [
      `p99, round by round: ${milliseconds(slow)} ms`,
      `${all.length.toLocaleString('en')} requests: ${quantilesOf(all)}`,
      ...details,
    ],
  };
}

/** Consecutive periods of the same length. */
const periodsOf = (from: number, to: number, lengthMs: number): [number, number][] =>
  Array.from({ length: Math.floor((to - from) / lengthMs) }, (_, index) => [
    from + index * lengthMs,
    from + (index + 1) * lengthMs,
  ]);

async function besideRefreshes({ name, stand, ours }: Store): Promise<Finding> {
  const loads = [asksOf(stand), await refreshesOf(stand)];
  const load = startSteadyLoad({ port: portOf(stand), loads });
  await Bun.sleep(warmUpMs);
  const othersShare = watchOthers(ours);
  const from = Date.now();
  const to = from + rounds * roundMs;
  await Bun.sleep(to - from);
  const busy = othersShare();
  const [asks, refreshes] = await load.stop();
  const refreshed = between(refreshes!, from, to);
  const details = [
    `${(refreshed.length / (to - from)) * 1000} refreshes a second: ${quantilesOf(refreshed)}`,
  ];
  const what = `${refreshesPerSecond.toLocaleString('en')} refreshes a second, ${name}`;
  return findingOf(what, asks!, periodsOf(from, to, roundMs), { atMost: 10, othersShare: busy, details });
}

/** Resolves when the service has begun to sweep. */
async function sweepBegins(dead: DeadRows): Promise<void> {
  const deadline = Date.now() + sweepStartDeadlineMs;
  while ((await dead.left()) === deadRows) {
    if (Date.now() > deadline) throw new Error('the service did not sweep in time');
    await Bun.sleep(sweepPollMs);
  }
}

async function besideSweep({ name, stand, dead, ours }: Store): Promise<Finding> {
  const load = startSteadyLoad({ port: portOf(stand), loads: [asksOf(stand)] });
  await sweepBegins(dead);
  const othersShare = watchOthers(ours);
  const periods: [number, number][] = [];
  const swept: number[] = [];
  for (let left = await dead.left(); periods.length < rounds; ) {
    const from = Date.now();
    await Bun.sleep(roundMs);
    const before = left;
    left = await dead.left();
    if (left === before || left === 0) throw new Error('the service did not sweep during a whole round');
    periods.push([from, Date.now()]);
    swept.push(before - left);
  }
  const busy = othersShare();
  const [asks] = await load.stop();
  const perSecond = (median(swept) / roundMs) * 1000;
  const details = [`${Math.round(perSecond).toLocaleString('en')} rows swept a second`];
  const what = `a sweep of ${deadRows.toLocaleString('en')} dead rows, ${name}`;
  return findingOf(what, asks!, periods, { atMost: 20, othersShare: busy, details });
}

async function measure(name: string, databaseUrl: string, ours: readonly number[]): Promise<Finding[]> {
  await fillStore(databaseUrl, sessions);
  const dead = await addDeadRows(databaseUrl, deadRows);
  const stand = await standOn(databaseUrl, sessions);
  const store = { name, stand, dead, ours };
  // The first sweep begins a minute after the start.
  const findings = [await besideRefreshes(store), await besideSweep(store)];
  await stand.server.stop();
  await dead.close();
  return findings;
}

export const beside: Figure = {
  name: 'beside',
  run: async () => {
    const cluster = await startPostgres({ durable: true });
    const postgresUrl = await cluster.createDatabase();
    return [
      ...(await measure('SQLite', sqliteUrl(), [])),
      ...(await measure('PostgreSQL', postgresUrl, [await postmasterOf(postgresUrl)])),
    ];
  },
};
