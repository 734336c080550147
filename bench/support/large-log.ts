// The security log with many rows on PostgreSQL, and what is done with it.

import { randomInt } from 'node:crypto';
import postgres from 'postgres';
import type { Context } from '../../packages/server/src/platform/context.ts';
import { generateKey, parseKeyRing } from '../../packages/server/src/platform/crypto/key-ring.ts';
import { systemRandom } from '../../packages/server/src/platform/crypto/random.ts';
import type { Database } from '../../packages/server/src/platform/database/executor.ts';
import { createLogger } from '../../packages/server/src/platform/telemetry/log.ts';
import {
  listEvents,
  recordEvent,
  sweepEvents,
} from '../../packages/server/src/security-log/events/events.ts';
import { findChain } from '../../packages/server/src/security-log/events/store.ts';
import { fillInBulk, withoutIndexes } from './bulk.ts';
import { userIdAt } from './store.ts';

export const eventsOfAccount = 100;
const retentionMs = 400 * 86_400_000;
/** Between two events of an account. */
const intervalMs = retentionMs / eventsOfAccount;

const pageSize = 50;

const userAgent =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36';

export interface Log {
  readonly rows: number;
  readonly accounts: number;
  /** Before it, each account has one event. */
  readonly firstEnd: number;
}

/**
 * Fills a log in the order of time, as if each account had an event every four days: so the events of one account are far
 * apart. They are unsealed, like those of the first release, and as long as sealed ones.
 */
export async function fillLog(databaseUrl: string, rows: number): Promise<Log> {
  const accounts = rows / eventsOfAccount;
  await fillInBulk(databaseUrl, accounts);
  const firstStart = Date.now() - retentionMs;
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
  // Without triggers, which would number each event on its own.
  await sql`SET session_replication_role = 'replica'`;
  await withoutIndexes(sql, ['events', 'event_positions'], async () => {
    for (let seq = 1; seq <= eventsOfAccount; seq++)
      await sql.unsafe(`
        INSERT INTO events (id, user_id, type, session_id, ip_address, user_agent, detail, created_at, seq, mac)
        SELECT 'evt_' || left(md5(id || ${seq}), 22), id, 'login', 'ses_' || right(md5(id || ${seq}), 22),
          '192.0.2.44', '${userAgent}', '{"method":"magic_link","kind":"browser"}',
          ${firstStart + (seq - 1) * intervalMs} + substr(email, 8, 8)::bigint * ${Math.floor(intervalMs / accounts)},
          ${seq}, '' FROM users`);
    await sql`INSERT INTO event_positions SELECT nextval('event_sequence'), id FROM events`;
  });
  await sql.unsafe(`
    INSERT INTO event_chains (user_id, unsealed, base_seq, base_mac, head_seq, head_mac, head_at, oldest_at, seal)
    SELECT user_id, ${eventsOfAccount}, 0, '', ${eventsOfAccount}, '', ${Date.now()}, created_at, ''
    FROM events WHERE seq = 1`);
  await sql`VACUUM ANALYZE`;
  await sql.end();
  return { rows, accounts, firstEnd: firstStart + intervalMs };
}

/** What the use cases of the security log need, besides a database. */
const settings: Pick<Context, 'logKeys' | 'clock' | 'random' | 'log'> = {
  logKeys: parseKeyRing(generateKey()),
  clock: Date.now,
  random: systemRandom,
  log: createLogger('silent'),
};

/** The operations on accounts chosen at random. Each resolves with how many it was. */
export function operationsOn(log: Log, db: Database) {
  const ctx = { ...settings, db } as Context;
  const userId = () => userIdAt(randomInt(log.accounts));
  const each = async (count: number, run: () => Promise<unknown>) => {
    for (let done = 0; done < count; done++) await run();
    return count;
  };
  return {
    'newest page of an account': (count: number) =>
      each(count, () => listEvents(ctx, { userId: userId() }, { limit: pageSize })),
    'chain of an account': (count: number) =>
      each(count, () => findChain(ctx.db.read, { user_id: userId() })),
    'append an event': (count: number) =>
      each(count, () =>
        ctx.db.transaction((tx) => recordEvent(ctx, tx, { type: 'login', userId: userId() })),
      ),
    'sweep an event': async (count: number) => (await sweepEvents(ctx, log.firstEnd, count)).length,
  };
}

export type Operation = keyof ReturnType<typeof operationsOn>;
