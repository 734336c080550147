// GET /me on PostgreSQL with one process and with two workers on the same core: what sharing a port costs. How much more
// two workers answer on two cores needs a third one for load and database.

import { startPostgres } from '../../tests/support/postgres.ts';
import { connections } from '../support/load.ts';
import { cpuSecondsOfFamily } from '../support/processes.ts';
import type { Figure } from '../support/report.ts';
import { median } from '../support/rounds.ts';
import { accessTokens, askMe, recordMe, standOn } from '../support/stand.ts';
import { fillStore } from '../support/store.ts';

const sessions = 10_000;
const rounds = 3;
const workerCounts = [1, 2];

/** One line: the rate and the CPU time of all processes for a request. */
async function measure(databaseUrl: string, workers: number): Promise<string> {
  const stand = await standOn(databaseUrl, sessions, workers);
  const tokens = accessTokens(stand);
  const { bytes } = await recordMe(stand, tokens[0]!);
  const rates: number[] = [];
  const micros: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const before = cpuSecondsOfFamily(stand.server.pid);
    const { count, seconds } = await askMe(stand, tokens, bytes);
    rates.push(count / seconds);
    micros.push(((cpuSecondsOfFamily(stand.server.pid) - before) * 1e6) / count);
  }
  await stand.server.stop();
  const processes = workers === 1 ? '1 process' : `${workers} workers`;
  return `${processes}: ${Math.round(median(rates))} requests/s, ${Math.round(median(micros))} µs of CPU each`;
}

export const workers: Figure = {
  name: 'workers',
  run: async () => {
    const databaseUrl = await (await startPostgres()).createDatabase();
    await fillStore(databaseUrl, sessions);
    const details: string[] = [];
    for (const count of workerCounts) details.push(await measure(databaseUrl, count));
    return [{ what: `GET /me, ${connections} connections, PostgreSQL, workers on one core`, details }];
  },
};
