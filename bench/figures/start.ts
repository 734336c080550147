// Time from the start of the program to its first 200 on /readyz.

import { join } from 'node:path';
import { installedServeCommand } from '../support/installed.ts';
import { watchOthers } from '../support/others.ts';
import { cpuSecondsOfFamily } from '../support/processes.ts';
import type { Figure } from '../support/report.ts';
import { median } from '../support/rounds.ts';
import { serveCommand, startService } from '../support/service.ts';
import { sqliteUrl } from '../support/stand.ts';
import { fillStore } from '../support/store.ts';

const starts = 9;
const sessions = 100_000;
const root = join(import.meta.dir, '../..');
const operatorProgram = [join(root, 'packages/server/bin/latchkey-server'), 'serve'];
const npmStart = ['npm', '--prefix', root, 'start'];

interface Start {
  readonly ms: number;
  /** CPU time of the started process and its children. */
  readonly cpuMs: number;
}

/** Starts the service several times, on the given database or each time in an empty directory. */
async function startsOf(command: string[], databaseUrl?: string): Promise<Start[]> {
  const done = [];
  for (let start = 0; start < starts; start++) {
    const service = await startService({ databaseUrl: databaseUrl ?? sqliteUrl() }, command);
    done.push({ ms: service.startedAfterMs, cpuMs: cpuSecondsOfFamily(service.pid) * 1000 });
    await service.stop();
  }
  return done;
}

function line(what: string, done: readonly Start[]): string {
  const times = done.map(({ ms }) => ms.toFixed(0)).join(' ');
  const cpu = median(done.map(({ cpuMs }) => cpuMs)).toFixed(0);
  return `${what}: ${times} ms, median ${median(done.map(({ ms }) => ms)).toFixed(0)} ms; ${cpu} ms of CPU`;
}

export const start: Figure = {
  name: 'start',
  run: async () => {
    const databaseUrl = sqliteUrl();
    await fillStore(databaseUrl, sessions);
    const installed = await installedServeCommand();
    const othersShare = watchOthers();
    const again = await startsOf(installed, databaseUrl);
    const details = [
      line(`the single file, with ${sessions.toLocaleString('en')} sessions`, again),
      line('the single file, in an empty directory', await startsOf(installed)),
      line('bun main.ts serve, in an empty directory', await startsOf(serveCommand)),
      line('latchkey-server serve, in an empty directory', await startsOf(operatorProgram)),
      line('npm start, in an empty directory', await startsOf(npmStart)),
    ];
    return [
      {
        what: `Start of the single file to the first 200 on /readyz, with ${sessions.toLocaleString('en')} sessions on SQLite`,
        value: median(again.map(({ ms }) => ms)),
        unit: 'ms',
        promise: { atMost: 250 },
        othersShare: othersShare(),
        details,
      },
    ];
  },
};
