// POST /refresh on PostgreSQL, against pgbench running the same statement. pgbench and the service run on the server core;
// PostgreSQL and the load generator run on the other one.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import postgres from 'postgres';
import { startPostgres } from '../../tests/support/postgres.ts';
import { temporaryDirectory } from '../../tests/support/service.ts';
import { connections } from '../support/load.ts';
import { cpuSecondsOfFamily, parentOf, runProgram } from '../support/processes.ts';
import { type Figure, ratioFinding } from '../support/report.ts';
import { type RotateParameter, rotateConstants, rotateStatement } from '../support/rotate-statement.ts';
import { compare, cpuMicros, maxRounds, median, type Sample } from '../support/rounds.ts';
import { refreshRounds, standOn, tokensInTurn } from '../support/stand.ts';
import { fillStore, refreshIdleTtlMs } from '../support/store.ts';

const sessions = 100_000;

/** Longer than a round of the service, because pgbench connects again in each round. */
const pgbenchSeconds = 2;

/** pgbench updates numbered sessions, different ones in each round. Their ids are hashes, in no order. */
const idOfSlot = "('ses_' || left(md5(cast(:slot as text)), 22))";
const slotsPerClient = Math.floor(tokensInTurn / connections);
const slotsPerRound = slotsPerClient * connections;

/**
 * Each client cycles through its own sessions. In its first cycle they are in generation 1, in the second in generation 2,
 * so every update finds its row.
 */
async function pgbenchScript(): Promise<string> {
  const { text, placeholders } = await rotateStatement('postgres');
  const values: Record<RotateParameter, string> = {
    network: `'${rotateConstants.network}'`,
    program: `'${rotateConstants.program}'`,
    service_id: 'NULL',
    run_idle_expires_at: ':idle_expires_at',
    id: idOfSlot,
    generation: ':generation',
    idempotency_hash: 'NULL',
    now: ':now',
    idle_expires_at: ':idle_expires_at',
  };
  const statement = text.replaceAll(/\$(\d+)/g, (_, position) => {
    const placeholder = placeholders[Number(position) - 1]!;
    return typeof placeholder === 'number' ? String(placeholder) : values[placeholder];
  });
  return [
    `\\set slot :first + :client_id * ${slotsPerClient} + :n % ${slotsPerClient}`,
    `\\set generation 1 + :n / ${slotsPerClient}`,
    '\\set n :n + 1',
    `${statement};`,
  ].join('\n');
}

/** Adds the sessions that pgbench needs in all rounds to the existing accounts: at most twice the existing number. */
const addNumberedSessions = (sql: postgres.Sql) =>
  sql.unsafe(`INSERT INTO sessions
    SELECT 'ses_' || left(md5(cast(number - 1 AS text)), 22), user_id, session_epoch, kind, method, generation,
      rotated_at, idempotency_hash, 'pgbench', device_name, ip_address, user_agent, created_at, last_used_at,
      idle_expires_at, expires_at, revoked_at, parent_session_id, passkey_id
    FROM (
      SELECT *, row_number() OVER () AS number FROM sessions CROSS JOIN generate_series(1, 2)
      LIMIT ${maxRounds * slotsPerRound}
    ) AS copied`);

async function pgbenchRounds(databaseUrl: string, sql: postgres.Sql): Promise<() => Promise<Sample>> {
  const script = join(temporaryDirectory(), 'rotate.sql');
  writeFileSync(script, await pgbenchScript());
  const now = Date.now();
  const updates = async (): Promise<number> => {
    const [row] = await sql`SELECT sum(generation - 1) AS done FROM sessions WHERE client_name = 'pgbench'`;
    return Number(row!['done']);
  };
  let first = 0;
  return async () => {
    const before = await updates();
    const variables = { n: 0, first, now, idle_expires_at: now + refreshIdleTtlMs };
    const command = [
      ...['pgbench', '--no-vacuum', '--protocol=prepared', '--file', script],
      ...[`--client=${connections}`, `--time=${pgbenchSeconds}`],
      ...Object.entries(variables).map(([name, value]) => `--define=${name}=${value}`),
      databaseUrl,
    ];
    const { out, cpuSeconds } = await runProgram(command);
    const count = Number(/actually processed: (\d+)/.exec(out)?.[1]);
    const rate = Number(/tps = ([\d.]+)/.exec(out)?.[1]);
    first += slotsPerRound;
    const updated = (await updates()) - before;
    if (updated !== count) throw new Error(`pgbench ran ${count} updates, which changed ${updated} rows`);
    return { count, seconds: count / rate, cpuSeconds };
  };
}

/** Runs rounds and measures the CPU time of the database for each request. */
function watchDatabase(postmaster: number, run: () => Promise<Sample>) {
  const samples: Sample[] = [];
  return {
    run: async (): Promise<Sample> => {
      const before = cpuSecondsOfFamily(postmaster);
      const sample = await run();
      samples.push({ ...sample, cpuSeconds: cpuSecondsOfFamily(postmaster) - before });
      return sample;
    },
    micros: () => median(samples.map(cpuMicros)),
  };
}

export const refreshPostgres: Figure = {
  name: 'refresh-postgres',
  run: async () => {
    if (!Bun.which('pgbench')) throw new Error('pgbench is not on PATH; on Debian it comes with postgresql');
    const databaseUrl = await (await startPostgres({ durable: true })).createDatabase();
    await fillStore(databaseUrl, sessions);
    const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
    await addNumberedSessions(sql);
    await sql`VACUUM ANALYZE`;
    await sql`CHECKPOINT`;
    const stand = await standOn(databaseUrl, sessions);
    const postmaster = parentOf((await sql`SELECT pg_backend_pid() AS pid`)[0]!['pid']);
    const service = watchDatabase(postmaster, await refreshRounds(stand));
    const pgbench = watchDatabase(postmaster, await pgbenchRounds(databaseUrl, sql));
    const comparison = await compare(
      { name: 'POST /refresh', run: service.run },
      { name: 'pgbench', run: pgbench.run },
      { ours: [postmaster] },
    );
    await sql.end();
    await stand.server.stop();
    const what = `POST /refresh, ${connections} connections, PostgreSQL, against pgbench running the same UPDATE … RETURNING with as many clients`;
    const finding = ratioFinding(what, comparison, 0.6);
    const database = `PostgreSQL: ${service.micros().toFixed(0)} us CPU for each refresh of the service, ${pgbench.micros().toFixed(0)} for each of pgbench, connecting included`;
    return [{ ...finding, details: [...finding.details, database] }];
  },
};
