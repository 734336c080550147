// A log that is set back to an earlier state is noticed, although it is intact.

import { expect, test } from 'bun:test';
import { onBothDatabases, type TestApp, type Tokens } from '#support/app.ts';
import { patchMe, signedIn } from '#support/security-log.ts';
import { fresh } from '#support/shared.ts';
import { generateKey } from '../../platform/crypto/primitives.ts';
import type { Tables } from '../../platform/database/schema.ts';
import { deleteAccount } from '../../whole-account/personal-data.ts';
import { auditLogs, auditTotals } from './auditing.ts';
import { recordEvent } from './events.ts';

const run = (app: TestApp, text: string) =>
  app.ctx.db.single.run<Tables['event_chains'] & Tables['log_totals']>(text, []);
const findings = async (app: TestApp) =>
  (await Array.fromAsync(auditLogs(app.ctx, undefined))).flatMap(({ audit }) => audit.findings);
const isComplete = async (app: TestApp) => (await auditTotals(app.ctx)).isComplete;

onBothDatabases('a log that was set back', (open, dialect) => {
  const app = fresh(open);

  test('is noticed at once and for good, although it is intact, also when total or count are adapted, unless the whole database was', async () => {
    const person = await signedIn(app);
    const tables = ['events', 'event_chains', 'log_totals'];
    for (const table of tables) await run(app, `CREATE TABLE saved_${table} AS SELECT * FROM ${table}`);
    /** As someone with the database can. */
    const setBack = async (...tables: string[]) => {
      for (const table of tables) {
        await run(app, `DELETE FROM ${table}`);
        await run(app, `INSERT INTO ${table} SELECT * FROM saved_${table}`);
      }
    };
    const state = async () => [await isComplete(app), await findings(app)];
    await patchMe(app, person, { name: 'Mallory' });
    expect(await state()).toEqual([true, []]);
    const [later] = await run(app, 'SELECT * FROM event_chains');
    const { counted, counted_seq, count_seal } = later!;
    await setBack('events', 'event_chains');
    expect(await state()).toEqual([false, []]);
    await patchMe(app, person, { name: 'Ada' });
    expect(await state()).toEqual([false, []]);

    for (const [total, seal] of [
      [counted, 'seal'],
      [counted, "''"],
      [counted, "'AAAAAAA.x'"],
      [0, "''"],
    ]) {
      await run(app, `UPDATE log_totals SET total = ${total}, seal = ${seal}`);
      const { isComplete: complete, retired } = await auditTotals(app.ctx);
      expect([total, seal, complete && retired === 0]).toEqual([total, seal, false]);
    }
    await setBack(...tables);
    expect(await state()).toEqual([true, []]);

    await run(
      app,
      `UPDATE event_chains SET counted = ${counted}, counted_seq = ${counted_seq}, count_seal = '${count_seal}'`,
    );
    for (const name of ['Ada', 'Eve']) {
      expect(await findings(app)).toMatchObject([{ problem: 'end changed' }]);
      await patchMe(app, person, { name });
    }
    expect(await findings(app)).toMatchObject([{ problem: 'end changed' }]);
  });

  test('is not found where logs only grew or ended, under new keys, too', async () => {
    const node = dialect === 'postgres' ? await open({ beside: app }) : app;
    const people = Array.from({ length: 12 }, (_, n) => `total-${n}@example.com`);
    const tokens: Tokens[] = [];
    for (const email of people) tokens.push(await app.login(email));
    await Promise.all(tokens.map((one, n) => patchMe(n % 2 ? app : node, one, { name: `n${n}` })));
    await Promise.all(people.slice(0, 6).map((email) => deleteAccount(app.ctx, email)));
    expect([await isComplete(app), await findings(app)]).toEqual([true, []]);
    const newKey = generateKey();
    const both = await open({
      databaseUrl: app.databaseUrl,
      settings: { LATCHKEY_KEYS: `${newKey},${app.keys}` },
    });
    expect(await auditTotals(both.ctx)).toEqual({ isComplete: true, retired: 0 });
    // Without the key that sealed a total, it cannot be checked, and a new seal does not change that.
    const alone = await open({ databaseUrl: app.databaseUrl, settings: { LATCHKEY_KEYS: newKey } });
    for (const email of people.slice(6)) await alone.login(email);
    const after = await auditTotals(alone.ctx);
    expect(after.isComplete).toBe(true);
    expect(after.retired).toBeGreaterThan(0);
    await both.login('later@example.com');
    expect((await auditTotals(both.ctx)).isComplete).toBe(true);
    for (const one of [alone, both, ...(node === app ? [] : [node]), app]) await one.close();
  });

  test('no transaction waits for the total of another one, and there are never more totals than transactions at once', async () => {
    const people: string[] = [];
    for (const name of ['ada', 'eve', 'joe', 'may'].slice(0, dialect === 'postgres' ? 4 : 1))
      people.push((await signedIn(app, `${name}@example.com`)).userId);
    /** Each transaction begins and ends within the one before, and records several events. */
    const recordAtOnce = ([userId, ...others]: readonly string[]): Promise<void> =>
      app.ctx.db.transaction(async (tx) => {
        const record = () => recordEvent(app.ctx, tx, { type: 'account_enabled', userId: userId! });
        for (let n = 0; n < 3; n++) await record();
        if (others.length > 0) await recordAtOnce(others);
        await record();
      });
    const totals = () => run(app, 'SELECT total FROM log_totals');
    for (let n = 0; n < 3; n++) {
      await recordAtOnce(people);
      expect(await totals()).toHaveLength(people.length);
    }
    // The one that has counted least is next, so that they grow together.
    for (let n = 0; n < 5 * people.length; n++) await recordAtOnce([people[0]!]);
    const counts = (await totals()).map(({ total }) => total);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(4);
    expect(await isComplete(app)).toBe(true);
  });
});
