// Memory use of the service after load.

import { memoryOf } from '../support/processes.ts';
import type { Figure } from '../support/report.ts';
import { accessTokens, askMe, openStand, recordMe, refreshRounds } from '../support/stand.ts';

const sessions = 100_000;
const busyRounds = 5;
const megabyte = 1e6;

export const memory: Figure = {
  name: 'memory',
  run: async () => {
    const stand = await openStand(sessions);
    const { pid } = stand.server;
    const started = memoryOf(pid);
    const tokens = accessTokens(stand);
    const { bytes } = await recordMe(stand, tokens[0]!);
    const refresh = await refreshRounds(stand);
    let requests = 0;
    for (let round = 0; round < busyRounds; round++) {
      requests += (await askMe(stand, tokens, bytes)).count;
      requests += (await refresh()).count;
    }
    const busy = memoryOf(pid);
    await stand.server.stop();
    const inMegabytes = (value: number) => `${(value / megabyte).toFixed(0)} MB`;
    return [
      {
        what: `Memory (resident) after load, ${sessions.toLocaleString('en')} sessions, SQLite`,
        value: busy.resident / megabyte,
        unit: 'MB',
        promise: { atMost: 110 },
        details: [
          `when ready: ${inMegabytes(started.resident)}, of which anonymous ${inMegabytes(started.anonymous)}`,
          `after ${requests.toLocaleString('en')} requests: ${inMegabytes(busy.resident)}, of which anonymous ${inMegabytes(busy.anonymous)}; peak ${inMegabytes(busy.peak)}`,
        ],
      },
    ];
  },
};
