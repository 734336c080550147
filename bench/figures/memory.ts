// Memory use of the service after load: after a few rounds, and after ten minutes.

import { installedServeCommand } from '../support/installed.ts';
import { memoryOf } from '../support/processes.ts';
import type { Figure, Finding } from '../support/report.ts';
import { accessTokens, askMe, recordMe, refreshRounds, sqliteUrl, standOn } from '../support/stand.ts';
import { fillStore } from '../support/store.ts';

const sessions = 100_000;
const busyRounds = 5;
const minuteMs = 60_000;
const megabyte = 1e6;

const inMegabytes = (value: number): string => `${(value / megabyte).toFixed(0)} MB`;

/** Puts the service under load, in rounds, as long as `goesOn` says. */
async function measure(
  when: string,
  goesOn: (rounds: number, elapsedMs: number) => boolean,
): Promise<Finding> {
  const databaseUrl = sqliteUrl();
  await fillStore(databaseUrl, sessions);
  const stand = await standOn(databaseUrl, sessions, { command: await installedServeCommand() });
  const { pid } = stand.server;
  const started = memoryOf(pid);
  const tokens = accessTokens(stand);
  const { bytes } = await recordMe(stand, tokens[0]!);
  const refresh = await refreshRounds(stand);
  let requests = 0;
  const byMinute: number[] = [];
  const startedAt = performance.now();
  const elapsedMs = () => performance.now() - startedAt;
  for (let round = 0; goesOn(round, elapsedMs()); round++) {
    requests += (await askMe(stand, tokens, bytes)).count;
    requests += (await refresh()).count;
    if (elapsedMs() > (byMinute.length + 1) * minuteMs) byMinute.push(memoryOf(pid).resident);
  }
  const busy = memoryOf(pid);
  await stand.server.stop();
  const growth =
    byMinute.length > 0
      ? [`after each minute: ${byMinute.map((value) => inMegabytes(value)).join(', ')}`]
      : [];
  return {
    what: `Memory (resident) of the single file after ${when}, ${sessions.toLocaleString('en')} sessions, SQLite`,
    value: busy.resident / megabyte,
    unit: 'MB',
    promise: { atMost: 180 },
    details: [
      `when ready: ${inMegabytes(started.resident)}, of which anonymous ${inMegabytes(started.anonymous)}`,
      `after ${requests.toLocaleString('en')} requests: ${inMegabytes(busy.resident)}, of which anonymous ${inMegabytes(busy.anonymous)}; peak ${inMegabytes(busy.peak)}`,
      ...growth,
    ],
  };
}

export const memory: Figure = {
  name: 'memory',
  run: async () => [await measure('load', (rounds) => rounds < busyRounds)],
};

/** Measured only by name, because it takes ten minutes. */
export const memoryTenMinutes: Figure = {
  name: 'memory-10-minutes',
  run: async () => [await measure('10 minutes of load', (_, elapsedMs) => elapsedMs < 10 * minuteMs)],
};
