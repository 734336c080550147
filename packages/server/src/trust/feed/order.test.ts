// No event is passed over, whatever order transactions commit in. PostgreSQL only: SQLite has a single writer.

import { describe, expect, test } from 'bun:test';
import postgres from 'postgres';
import { openApp, type TestApp } from '#support/app.ts';
import { type FeedService, feedService } from '#support/feed.ts';
import { startPostgres } from '#support/postgres.ts';
import { random } from '#support/seed.ts';
import { openTransaction, turns } from '#support/until.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { writeFeedEvent } from '../../security-log/feed-events/feed-events.ts';

const user = (n: number | string) => `usr_${String(n).padStart(22, '0')}`;

const write = (t: TestApp, n: number) =>
  t.ctx.db.transaction((tx) => writeFeedEvent(t.ctx, tx, { type: 'account-enabled', userId: user(n) }));

/** A transaction that writes an event and stays open until the result is called. */
const openWriter = ({ ctx }: TestApp, n: number) =>
  openTransaction<Executor>(ctx.db.transaction, async (tx) => {
    await writeFeedEvent(ctx, tx, { type: 'account-enabled', userId: user(n) });
    // The event itself is not waited for before the commit, but it comes before this.
    await tx.run('SELECT 1', []);
  });

const subjectsOf = async (
  service: FeedService,
  ...args: Parameters<FeedService['read']>
): Promise<string[]> => (await service.read(...args)).map(({ subject }) => subject.sub);

const now = { returnImmediately: true };

describe('the order of events on PostgreSQL', () => {
  test('an event is held back by an earlier writer, through is not after it, a wait ends when that commits, and what begins to read meanwhile gets it, too', async () => {
    const t = await openApp('postgres');
    const service = await feedService(t);
    const finish = await openWriter(t, 1);
    const late = await feedService(t);
    expect((await late.ask({ ...now, reader: 'one' })).body).toMatchObject({ begun: true, sets: {} });
    t.pass(1);
    await write(t, 2);
    const committedBy = t.ctx.clock();
    t.pass(1);
    const { body } = await service.ask(now);
    expect([Object.keys(body.sets), body.moreAvailable]).toEqual([[], false]);
    expect(Date.parse(body.through)).toBeLessThanOrEqual(committedBy);
    expect(body.after).toBeLessThan(0);
    const waiting = service.ask({ maxEvents: 1000 });
    await t.untilWaiting(1, 1);
    await finish();
    expect(Object.keys((await waiting).body.sets)).toHaveLength(2);
    for (const read of [subjectsOf(service), subjectsOf(late), subjectsOf(late, 'one')])
      expect(await read).toEqual([1, 2].map(user));
  });

  test('neither long transactions that write no events delay anything nor writers in another database', async () => {
    const t = await openApp('postgres');
    const service = await feedService(t);
    const elsewhere = await (await startPostgres()).createDatabase();
    const foreign = [t.databaseUrl, elsewhere].map((url) => postgres(url, { max: 1 }));
    const held = await Promise.all(
      foreign.map((sql) =>
        openTransaction<postgres.TransactionSql>(
          (work) => sql.begin(work),
          async (tx) => {
            await tx`CREATE TABLE scratch (id int)`;
            // What another program might lock, and a snapshot that stays.
            await tx`SELECT pg_advisory_xact_lock(1), pg_advisory_xact_lock_shared(26213, 1), txid_current()`;
            await tx`SELECT pg_advisory_xact_lock_shared((25000::bigint << 48) | 1)`;
          },
        ),
      ),
    );
    held.push(await openWriter(await openApp('postgres'), 1));
    await write(t, 2);
    expect(await subjectsOf(service)).toEqual([user(2)]);
    for (const finish of held) await finish();
    for (const sql of foreign) await sql.end();
  });

  test('a transaction takes one advisory lock, however many events it writes', async () => {
    const t = await openApp('postgres');
    for (let transactions = 0; transactions < 2; transactions++)
      await t.ctx.db.transaction(async (tx) => {
        for (const n of [1, 2, 3])
          await writeFeedEvent(t.ctx, tx, { type: 'account-enabled', userId: user(n) });
        const own = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()";
        expect(await tx.run(own, [])).toHaveLength(1);
      });
  });

  test('with many writers on two nodes that commit and roll back in any order, each reader gets every event once, in one order, also beyond 32 bits', async () => {
    const t = await openApp('postgres');
    await t.ctx.db.single.run(`SELECT setval('feed_sequence', ${2 ** 32 + 2 ** 31 - 100})`, []);
    const node = await openApp('postgres', { beside: t });
    const service = await feedService(t);
    const writers = 8;
    const rounds = 40;
    const committed: string[] = [];
    let running = writers;
    const writer = async (w: number) => {
      for (let n = 0; n < rounds; n++) {
        const id = `${w}x${n}`;
        const on = w % 2 ? node : t;
        const [fails, pause] = [random.oneIn(5), random.below(16)];
        await on.ctx.db
          .transaction(async (tx) => {
            await writeFeedEvent(on.ctx, tx, { type: 'account-enabled', userId: user(id) });
            await turns(pause);
            if (fails) throw new Error('rolled back');
          })
          .then(() => committed.push(user(id)))
          .catch((error: Error) => expect(error.message).toBe('rolled back'));
      }
      running--;
    };
    const reader = async (on: TestApp, name: string) => {
      const seen: string[] = [];
      await service.ask({ ...now, reader: name }, on);
      while (running > 0) seen.push(...(await subjectsOf(service, name, on)));
      seen.push(...(await subjectsOf(service, name, on)));
      return seen;
    };
    // The readers begin before anything is written.
    const names = ['a', 'b', 'c'];
    for (const name of names) await service.ask({ ...now, reader: name }, t);
    const [, ...orders] = await Promise.all([
      Promise.all(Array.from({ length: writers }, (_, w) => writer(w))),
      ...names.map((name, n) => reader(n % 2 ? node : t, name)),
    ]);
    for (const order of orders) expect(order).toEqual(orders[0]!);
    expect(orders[0]!.toSorted()).toEqual(committed.toSorted());
  });
});
