// POST /refresh on SQLite, where every response waits for the disk, against the least program that
// keeps the same promises, and against a bare loop of the same statement with one commit each.

import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CommitLoop } from '../programs/commit-loop.ts';
import { connections } from '../support/load.ts';
import { runProgram } from '../support/processes.ts';
import { type Figure, ratioFinding } from '../support/report.ts';
import { rotateStatement } from '../support/rotate-statement.ts';
import { compare, roundSeconds, type Sample } from '../support/rounds.ts';
import { startFloor } from '../support/service.ts';
import { refreshRounds, sqliteUrl, standOn, tokensInTurn } from '../support/stand.ts';
import { fillStore, refreshIdleTtlMs } from '../support/store.ts';

const sessions = 100_000;

export const refresh: Figure = {
  name: 'refresh',
  run: async () => {
    const databaseUrl = sqliteUrl();
    const path = databaseUrl.slice('sqlite:'.length);
    await fillStore(databaseUrl, sessions);
    for (const copy of ['floor', 'loop']) copyFileSync(path, `${path}.${copy}`);
    const stand = await standOn(databaseUrl, sessions);
    const floorUrl = `${databaseUrl}.floor`;
    const floor = await startFloor('refresh', { databaseUrl: floorUrl, keys: stand.ring });
    const subject = { name: 'POST /refresh', run: await refreshRounds(stand) };
    const toFloor = await compare(subject, {
      name: 'floor',
      run: await refreshRounds({ ...stand, server: floor, databaseUrl: floorUrl }),
    });
    const loop: CommitLoop = {
      path: `${path}.loop`,
      statement: await rotateStatement('sqlite'),
      seconds: roundSeconds,
      step: sessions / tokensInTurn,
      idleTtlMs: refreshIdleTtlMs,
    };
    const program = join(import.meta.dir, '../programs/commit-loop.ts');
    const toLoop = await compare(subject, {
      name: 'bare loop, a commit each',
      run: async (): Promise<Sample> =>
        JSON.parse(
          (await runProgram([process.execPath, program], { COMMIT_LOOP: JSON.stringify(loop) })).out,
        ),
    });
    await Promise.all([stand.server.stop(), floor.stop()]);
    const what = `POST /refresh, ${connections} connections, SQLite, synchronous=FULL`;
    return [
      ratioFinding(`${what}, against its floor`, toFloor, 0.8),
      ratioFinding(`${what}, against one commit each on the same disk`, toLoop, 4),
    ];
  },
};
