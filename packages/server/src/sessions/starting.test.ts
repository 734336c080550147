import { expect, test } from 'bun:test';
import { onBothDatabases } from '#support/app.ts';
import { copySession } from '#support/runs.ts';

const devices = 2_000;

onBothDatabases('a sign-in in a browser', (open) => {
  test('finds the browsers of an account without reading the sessions of its devices', async () => {
    const t = await open();
    await t.login();
    const { run } = t.ctx.db.single;
    const [session] = await run<{ id: string }>('SELECT id FROM sessions', []);
    await copySession(t, session!.id, devices, { kind: "'device'" });
    await run('ANALYZE sessions', []);

    const before = t.statements.length;
    await t.login();
    const read = t.statements
      .slice(before)
      .find((text) => /select "ip_address", "user_agent" from "sessions"/.test(text));
    const explain = t.ctx.db.dialect === 'postgres' ? 'EXPLAIN' : 'EXPLAIN QUERY PLAN';
    const linkId = 'no link';
    const plan = await run(`${explain} ${read}`, [linkId]);
    expect(JSON.stringify(plan)).toContain('browser_sessions_by_user');
  });
});
