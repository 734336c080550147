// POST /refresh on SQLite, where every response waits for the disk, against a bare loop of the same statement with one
// commit each.

import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CommitLoop } from '../programs/commit-loop.ts';
import { connections } from '../support/load.ts';
import { runProgram } from '../support/processes.ts';
import { type Figure, ratioFinding } from '../support/report.ts';
import { rotateStatement } from '../support/rotate-statement.ts';
import { compare, roundSeconds, type Sample } from '../support/rounds.ts';
import { refreshRounds, sqliteUrl, standOn, tokensInTurn } from '../support/stand.ts';
import { fillStore, refreshIdleTtlMs } from '../support/store.ts';

const sessions = 100_000;

export const refresh: Figure = {
  name: 'refresh',
  run: async () => {
    const databaseUrl = sqliteUrl();
    const path = databaseUrl.slice('sqlite:'.length);
    await fillStore(databaseUrl, sessions);
    copyFileSync(path, `${path}.copy`);
    const stand = await standOn(databaseUrl, sessions);
    const loop: CommitLoop = {
      path: `${path}.copy`,
      statement: await rotateStatement('sqlite'),
      seconds: roundSeconds,
      step: sessions / tokensInTurn,
      idleTtlMs: refreshIdleTtlMs,
    };
    const program = join(import.meta.dir, '../programs/commit-loop.ts');
    const comparison = await compare(
      { name: 'POST /refresh', run: await refreshRounds(stand) },
      {
        name: 'bare loop, a commit each',
        run: async (): Promise<Sample> =>
          JSON.parse(
            (await runProgram([process.execPath, program], { COMMIT_LOOP: JSON.stringify(loop) })).out,
          ),
      },
    );
    await stand.server.stop();
    const what = `POST /refresh, ${connections} connections, SQLite, synchronous=FULL, against one commit each on the same disk`;
    return [ratioFinding(what, comparison, 5)];
  },
};
