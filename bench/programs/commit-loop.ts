// A bare loop of one statement on SQLite with one commit each, like a service without group commit. Prints its result as a
// line of JSON.

import { Database } from 'bun:sqlite';
import { bytesWritten } from '../support/processes.ts';
import { type RotateParameter, type RotateStatement, rotateConstants } from '../support/rotate-statement.ts';
import type { Sample } from '../support/rounds.ts';

export interface CommitLoop {
  readonly path: string;
  readonly statement: RotateStatement;
  readonly seconds: number;
  /** Uses every `step`th session. */
  readonly step: number;
  /** The idle timeout that each update sets, in milliseconds from now. */
  readonly idleTtlMs: number;
}

const { path, statement, seconds, step, idleTtlMs }: CommitLoop = JSON.parse(
  process.env['COMMIT_LOOP'] ?? '{}',
);

const db = new Database(path, { strict: true });
for (const pragma of ['journal_mode = WAL', 'synchronous = FULL', 'foreign_keys = ON']) {
  db.run(`PRAGMA ${pragma}`);
}
const rows = db
  .query<{ id: string; generation: number }, [number]>(
    'SELECT id, generation FROM sessions WHERE rowid % ? = 0',
  )
  .all(step);
const update = db.query(statement.text);

const writtenBefore = bytesWritten(process.pid);
const cpuBefore = process.cpuUsage();
const started = performance.now();
const deadline = started + seconds * 1000;
let count = 0;
while (performance.now() < deadline) {
  const row = rows[count % rows.length]!;
  const now = Date.now();
  const values: Record<RotateParameter, string | number | null> = {
    ...rotateConstants,
    ...row,
    idempotency_hash: null,
    now,
    idle_expires_at: now + idleTtlMs,
    run_idle_expires_at: now + idleTtlMs,
  };
  const found = update.all(
    ...statement.placeholders.map((name) => (typeof name === 'number' ? name : values[name])),
  );
  if (found.length !== 1) throw new Error('a session was not refreshed');
  row.generation += 1;
  count += 1;
}
const { user, system } = process.cpuUsage(cpuBefore);
const result: Sample = {
  count,
  seconds: (performance.now() - started) / 1000,
  cpuSeconds: (user + system) / 1e6,
  bytesWritten: bytesWritten(process.pid) - writtenBefore,
};
process.stdout.write(`${JSON.stringify(result)}\n`);
