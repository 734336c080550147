// GET /me on PostgreSQL with one process and with two workers under twice its load, each time on both cores, which load and
// database use, too. So the rate says little; what two workers could answer on cores of their own follows from the CPU time of a
// request.

import { startPostgres } from '../../tests/support/postgres.ts';
import { moveToBothCores, moveToLoadCore, onBothCores } from '../support/cores.ts';
import { connections } from '../support/load.ts';
import { cpuSecondsOfFamily } from '../support/processes.ts';
import type { Figure } from '../support/report.ts';
import { median } from '../support/rounds.ts';
import { serveCommand } from '../support/service.ts';
import { accessTokens, askMe, recordMe, type Stand, standOn } from '../support/stand.ts';
import { fillStore } from '../support/store.ts';

const sessions = 10_000;
const rounds = 9;
const atLeast = 1.7;

interface Side {
  readonly stand: Stand;
  /** Every worker has the same load. */
  readonly connections: number;
  readonly tokens: readonly string[];
  readonly bytes: number;
  readonly rates: number[];
  /** CPU time of all processes of the service for a request, in microseconds. */
  readonly micros: number[];
}

async function openSide(databaseUrl: string, workers: number): Promise<Side> {
  const stand = await standOn(databaseUrl, sessions, { workers, command: onBothCores(serveCommand) });
  const tokens = accessTokens(stand);
  const { bytes } = await recordMe(stand, tokens[0]!);
  return { stand, connections: workers * connections, tokens, bytes, rates: [], micros: [] };
}

async function runRound({ stand, connections, tokens, bytes, rates, micros }: Side): Promise<void> {
  const before = cpuSecondsOfFamily(stand.server.pid);
  const { count, seconds } = await askMe(stand, tokens, bytes, connections);
  rates.push(count / seconds);
  micros.push(((cpuSecondsOfFamily(stand.server.pid) - before) * 1e6) / count);
}

const lineOf = (name: string, { connections, rates, micros }: Side): string =>
  `${name}, ${connections} connections: ${Math.round(median(rates))} requests/s, ${Math.round(median(micros))} µs of CPU each`;

export const workers: Figure = {
  name: 'workers',
  run: async () => {
    // Otherwise one of the workers would share its core with the whole database.
    moveToBothCores();
    const databaseUrl = await (await startPostgres()).createDatabase();
    await fillStore(databaseUrl, sessions);
    const one = await openSide(databaseUrl, 1);
    const two = await openSide(databaseUrl, 2);
    for (let round = 0; round < rounds; round++) for (const side of [one, two]) await runRound(side);
    for (const { stand } of [one, two]) await stand.server.stop();
    moveToLoadCore();
    return [
      {
        what: `GET /me, ${connections} connections for each worker, PostgreSQL: two workers ÷ one process, by CPU time`,
        value: (2 * median(one.micros)) / median(two.micros),
        promise: { atLeast },
        details: [lineOf('1 process', one), lineOf('2 workers', two)],
      },
    ];
  },
};
