// A log that is set back to an earlier state is noticed, although it is intact.

import { expect, test } from 'bun:test';
import { onBothDatabases, type TestApp, type Tokens } from '#support/app.ts';
import { fresh } from '#support/shared.ts';
import { generateKey } from '../../platform/crypto/primitives.ts';
import { deleteAccount } from '../../whole-account/personal-data.ts';
import { auditLogs, auditTotals } from './auditing.ts';

type Row = Record<string, string | number | null>;

const run = (app: TestApp, text: string) => app.ctx.db.single.run<Row>(text, []);
const findings = async (app: TestApp) =>
  (await Array.fromAsync(auditLogs(app.ctx, undefined))).flatMap(({ audit }) => audit.findings);
const isComplete = async (app: TestApp) => (await auditTotals(app.ctx)).isComplete;

/** Remembers the rows of these tables about a user, and returns what puts them back, as someone with the database can. */
async function snapshotOf(app: TestApp, user: string, ...tables: string[]): Promise<() => Promise<void>> {
  const saved = await Promise.all(
    tables.map(
      async (table) => [table, await run(app, `SELECT * FROM ${table} WHERE user_id = '${user}'`)] as const,
    ),
  );
  return async () => {
    for (const [table, rows] of saved) {
      await run(app, `DELETE FROM ${table} WHERE user_id = '${user}'`);
      for (const row of rows) {
        const values = Object.values(row).map((value) => (value === null ? 'NULL' : `'${value}'`));
        await run(app, `INSERT INTO ${table} (${Object.keys(row).join(', ')}) VALUES (${values.join(', ')})`);
      }
    }
  };
}

onBothDatabases('a log that was set back', (open, dialect) => {
  const app = fresh(open);

  const signedIn = async (app: TestApp) => {
    const { access_token: token } = await app.login();
    return { token, user: (await app.ask('GET', '/me', { token })).body.id as string };
  };

  test('is noticed at once and for good, although it is intact', async () => {
    const { token, user } = await signedIn(app);
    const setBack = await snapshotOf(app, user, 'events', 'event_chains');
    await app.ask('PATCH', '/me', { token, json: { name: 'Mallory' } });
    expect([await isComplete(app), await findings(app)]).toEqual([true, []]);
    await setBack();
    expect([await isComplete(app), await findings(app)]).toEqual([false, []]);
    await app.ask('PATCH', '/me', { token, json: { name: 'Ada' } });
    expect([await isComplete(app), await findings(app)]).toEqual([false, []]);
  });

  test('is noticed when the total is adapted to it', async () => {
    const { token, user } = await signedIn(app);
    const setBack = await snapshotOf(app, user, 'events', 'event_chains');
    const before = await run(app, 'SELECT * FROM log_totals');
    await app.ask('PATCH', '/me', { token, json: { name: 'Mallory' } });
    await setBack();
    for (const adapted of [
      'total = total - 1',
      "total = total - 1, seal = ''",
      "total = 0, seal = ''",
      `total = total - 1, seal = 'AAAAAAA.x'`,
    ]) {
      await run(app, `UPDATE log_totals SET ${adapted}`);
      const { isComplete: complete, retired } = await auditTotals(app.ctx);
      expect([adapted, complete && retired === 0]).toEqual([adapted, false]);
    }
    for (const { bucket, total, seal } of before)
      await run(app, `UPDATE log_totals SET total = ${total}, seal = '${seal}' WHERE bucket = ${bucket}`);
    // A copy of the whole database from that time looks like this, too.
    expect(await isComplete(app)).toBe(true);
  });

  test('is noticed when its count is kept', async () => {
    const { token, user } = await signedIn(app);
    const setBack = await snapshotOf(app, user, 'events', 'event_chains');
    await app.ask('PATCH', '/me', { token, json: { name: 'Mallory' } });
    const [count] = await run(app, 'SELECT counted, counted_seq, count_seal FROM event_chains');
    await setBack();
    const { counted, counted_seq, count_seal } = count!;
    await run(
      app,
      `UPDATE event_chains SET counted = ${counted}, counted_seq = ${counted_seq}, count_seal = '${count_seal}'`,
    );
    expect(await findings(app)).toMatchObject([{ problem: 'end changed' }]);
    await app.ask('PATCH', '/me', { token, json: { name: 'Ada' } });
    expect(await findings(app)).toMatchObject([{ problem: 'end changed' }]);
  });

  test('is not found where logs only grew or ended, under new keys, too', async () => {
    const node = dialect === 'postgres' ? await open({ beside: app }) : app;
    const people = Array.from({ length: 12 }, (_, n) => `total-${n}@example.com`);
    const tokens: Tokens[] = [];
    for (const email of people) tokens.push(await app.login(email));
    await Promise.all(
      tokens.map(({ access_token: token }, n) =>
        (n % 2 ? app : node).ask('PATCH', '/me', { token, json: { name: `n${n}` } }),
      ),
    );
    await Promise.all(people.slice(0, 6).map((email) => deleteAccount(app.ctx, email)));
    expect([await isComplete(app), await findings(app)]).toEqual([true, []]);
    const newKey = generateKey();
    const both = await open({
      databaseUrl: app.databaseUrl,
      settings: { LATCHKEY_KEYS: `${newKey},${app.keys}` },
    });
    await both.login('later@example.com');
    expect(await auditTotals(both.ctx)).toEqual({ isComplete: true, retired: 0 });
    // Without the key that sealed a total, it cannot be checked, and a new seal does not change that.
    const alone = await open({ databaseUrl: app.databaseUrl, settings: { LATCHKEY_KEYS: newKey } });
    for (const email of people.slice(6)) await alone.login(email);
    const after = await auditTotals(alone.ctx);
    expect(after.isComplete).toBe(true);
    expect(after.retired).toBeGreaterThan(0);
    for (const one of [alone, both, ...(node === app ? [] : [node]), app]) await one.close();
  });
});
