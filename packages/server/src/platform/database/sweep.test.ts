import { describe, expect, test } from 'bun:test';
import { onBothDatabases, type TestApp } from '#support/app.ts';
import { fresh } from '#support/shared.ts';
import { VirtualTime } from '#support/virtual-time.ts';
import type { Database } from './executor.ts';
import { type Sweep, type Sweeps, sweepOnce } from './sweep.ts';

const day = 86_400;

const count = async ({ ctx }: TestApp, table: string): Promise<number> => {
  const [row] = await ctx.db.read.run<{ n: number }>(`SELECT count(*) AS n FROM ${table}`, []);
  return Number(row!.n);
};
const counts = (t: TestApp): Promise<number[]> =>
  Promise.all(['sessions', 'device_authorizations', 'magic_links', 'outbox'].map((table) => count(t, table)));

onBothDatabases('sweeping', (open) => {
  const t = fresh(open);

  test('a sweep deletes expired rows and keeps all others, table by table', async () => {
    const tokens = await t.login();
    await t.ask('POST', '/device');
    for (const [seconds, deleted, left] of [
      [0, 0, [1, 1, 1, 1]],
      [600 + 3600 + 1, 1, [1, 0, 1, 1]],
      [day, 1, [1, 0, 0, 1]],
      // Operators see for a week what was sent.
      [5 * day, 0, [1, 0, 0, 1]],
      [day, 1, [1, 0, 0, 0]],
    ] as const) {
      t.pass(seconds);
      expect([seconds, await t.sweep(), await counts(t)]).toEqual([seconds, deleted, [...left]]);
    }
    t.pass(21 * day);
    const { status } = await t.ask('POST', '/refresh', { json: { refresh_token: tokens.refresh_token } });
    expect(status).toBe(200);
    for (const [days, deleted] of [
      [181, 0],
      [2, 1],
    ] as const) {
      t.pass(days * day);
      expect([days, await t.sweep()]).toEqual([days, deleted]);
    }
    expect([...(await counts(t)), await count(t, 'users')]).toEqual([0, 0, 0, 0, 1]);
  });

  test('an unsent mail stays for 30 days after its link expired, waiting or dead', async () => {
    for (const email of ['ada@example.com', 'eve@example.com'])
      await t.ask('POST', '/magic_link', { json: { email } });
    const die = `UPDATE outbox SET dead_at = ${t.ctx.clock()} WHERE recipient = 'eve@example.com'`;
    await t.ctx.db.single.run(die, []);
    for (const [days, left] of [
      [29, 2],
      [2, 0],
    ] as const) {
      t.pass(days * day);
      await t.sweep();
      expect([days, await count(t, 'outbox')]).toEqual([days, left]);
    }
  });

  test('one sweep deletes more rows than one batch, and only expired ones', async () => {
    const now = t.ctx.clock();
    const row = (n: number, expires: number) => `('l${n}', 'a@x.example', 'a@x.example', 0, ${expires}, 0)`;
    const rows = Array.from({ length: 1700 }, (_, n) => row(n, n < 1300 ? now - 2 * day * 1000 : now + 1000));
    const columns = 'id, email, email_key, created_at, expires_at, code_tries';
    await t.ctx.db.single.run(`INSERT INTO magic_links (${columns}) VALUES ${rows.join(',')}`, []);
    const before = t.statements.length;
    expect(await t.sweep()).toBe(1300);
    const deletions = t.statements.slice(before).filter((text) => /delete from "magic_links"/i.test(text));
    expect(deletions.length).toBeGreaterThan(2);
    expect(await count(t, 'magic_links')).toBe(400);
  });

  test('two nodes that sweep at the same time delete each row once', async () => {
    const other = await open({ beside: t });
    for (let n = 0; n < 50; n++) await t.ask('POST', '/device');
    t.pass(2 * 3600);
    const deleted = await Promise.all([t.sweep(), other.sweep()]);
    expect(deleted[0] + deleted[1]).toBe(50);
    expect(await count(t, 'device_authorizations')).toBe(0);
  });
});

describe('a sweep', () => {
  const time = new VirtualTime(0);
  const ctx = { db: { single: {} } as Database, clock: time.clock, timers: time.timers };
  const sweepAll = (sweeps: Sweeps, signal?: AbortSignal) => sweepOnce(ctx, sweeps, signal);
  /** A sweep of this many full batches, each of which takes so long. */
  const table = (batches: number, ms: number, before: () => void = () => undefined): Sweep => {
    let left = batches;
    return async (_, __, limit) => {
      before();
      time.advance(ms);
      return left-- > 0 ? Array(limit).fill({}) : [];
    };
  };

  test('leaves requests most of the time between its batches', async () => {
    const [batches, ms] = [3, 20];
    const startedAt = time.clock();
    await sweepAll({ table: table(batches, ms) });
    expect(time.clock() - startedAt).toBe((batches + 1) * ms + batches * ms * 4);
  });

  test('takes turns with other tables, so that a large one holds up none', async () => {
    const order: string[] = [];
    await sweepAll({
      large: table(2, 1, () => order.push('large')),
      small: table(0, 1, () => order.push('small')),
    });
    expect(order).toEqual(['large', 'small', 'large', 'large']);
  });

  test('leaves a table that fails to the next time, and goes on with the others', async () => {
    const broken: Sweep = async () => {
      throw new Error('broken');
    };
    const { deleted, failed } = await sweepAll({ broken, whole: table(1, 1) });
    expect(failed).toEqual(['broken']);
    expect(deleted).toBeGreaterThan(0);
  });

  test('can be ended', async () => {
    const stopping = new AbortController();
    const endless = { table: table(1_000, 1, () => stopping.abort()) };
    const { deleted } = await sweepAll(endless, stopping.signal);
    expect(deleted).toBeGreaterThan(0);
    expect(deleted).toBeLessThan(1_000);
  });
});
