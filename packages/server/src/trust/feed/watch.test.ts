// Many requests that wait, and events that other processes write.

import { expect, test } from 'bun:test';
import { onBothDatabases } from '#support/app.ts';
import { feedService } from '#support/feed.ts';
import { runOperator } from '#support/service.ts';
import { until } from '#support/until.ts';

const waiters = 100;

onBothDatabases('waiting for events', (open) => {
  test(`${waiters} requests wait on one node without a connection of the pool, and all get an event at once`, async () => {
    const t = await open({ settings: { LATCHKEY_FEED_WAIT: '20' } });
    const service = await feedService(t);
    const { access_token: accessToken } = await t.login();
    const names = Array.from({ length: waiters }, (_, n) => `r${n}`);
    for (let n = 0; n < waiters; n += 50)
      await Promise.all(
        names.slice(n, n + 50).map((reader) => service.ask({ reader, returnImmediately: true })),
      );
    const waiting = names.map((reader) => service.ask({ reader }));
    const metrics = async () => (await t.ask('GET', 'metrics', { peer: '127.0.0.1' })).text;
    await until(
      async () => (await metrics()).includes(`latchkey_feed_waiting_requests ${waiters}`),
      `${waiters} waiting requests`,
    );

    // Far more than the pool has connections, and yet the node answers as always and asks few questions.
    const before = t.statements.length;
    for (let n = 0; n < 20; n++) {
      await t.api.call('getProfile', { accessToken });
      t.pass(0.05);
    }
    expect(t.statements.length - before).toBeLessThan(200);

    await t.api.call('revoke', { accessToken });
    const answers = await Promise.all(waiting);
    for (const { body } of answers) expect(Object.keys(body.sets)).toHaveLength(1);
    expect(new Set(answers.map(({ body }) => Object.values(body.sets)[0])).size).toBe(1);
    expect(await metrics()).toContain('latchkey_feed_waiting_requests 0\n');
  });

  test('an event that a command of the operator writes ends the wait of a service that no announcement reaches', async () => {
    const t = await open({ settings: { LATCHKEY_FEED_WAIT: '20' } });
    // SQLite has none for other programs, and a proxy that pools connections to PostgreSQL passes none on.
    t.ctx.db.notifications.listen = () => () => undefined;
    const service = await feedService(t);
    await t.login('ada@example.com');
    const waiting = service.ask();
    await t.untilWaiting(1, 15);
    const env = { DATABASE_URL: t.databaseUrl, LATCHKEY_KEYS: t.keys };
    expect((await runOperator(env, 'users', 'disable', 'ada@example.com')).code).toBe(0);
    // Until the service sleeps before its next look.
    await t.untilWaiting(2, 0);
    t.pass(0.1);
    expect(Object.keys((await waiting).body.sets)).toHaveLength(1);
  });
});
