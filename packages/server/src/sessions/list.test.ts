import { expect, test } from 'bun:test';
import { sessionList } from '@latchkey/contract/sessions';
import { disown, newAddress, signInByMail, subjects } from '#support/account.ts';
import { onBothDatabases, type Tokens } from '#support/app.ts';
import { decideDevice, pollDevice, startDevice } from '#support/devices.ts';
import { createdKey } from '#support/keys.ts';
import { planOf } from '#support/plan.ts';
import { startedRun } from '#support/runs.ts';
import { declareService } from '#support/services.ts';
import { shared } from '#support/shared.ts';
import { until } from '#support/until.ts';

onBothDatabases('the list of sessions', (open) => {
  const app = shared(open);

  const list = async ({ access_token }: Pick<Tokens, 'access_token'>, query = '') => {
    const { status, body } = await app.ask('GET', `/sessions${query}`, { token: access_token });
    expect(status).toBe(200);
    return sessionList.strict().parse(body);
  };
  test('the list shows the kind, method and origin of every session, what it may do, and where', async () => {
    const own = await app.login(newAddress());
    const resource = 'https://tickets.example/api';
    await declareService(app.ctx, { resource });
    const asked = { client_name: 'Latchkey CLI', device_name: 'build host', scope: '* openid', resource };
    const client = { headers: { 'User-Agent': 'latchkey/1.0' }, peer: '198.51.100.7' };
    const codes = await startDevice(app, asked, client);
    app.pass(2);
    await decideDevice(app, 'approve', codes, own);
    // The list shows the address that requested the device code, not the one that polled.
    const { device_code } = codes;
    expect((await app.ask('POST', '/token', { json: { device_code }, peer: '203.0.113.9' })).status).toBe(
      200,
    );
    const place = { ip_address: client.peer, user_agent: 'latchkey/1.0' };
    const unnamed = { client_name: null, device_name: null, resource: null, user_agent: null };
    const { sessions, next_cursor } = await list(own);
    expect(next_cursor).toBeNull();
    expect(sessions).toMatchObject([
      { kind: 'device', method: 'device_code', ...asked, ...place, current: false },
      {
        kind: 'browser',
        method: 'magic_link',
        ...unnamed,
        scope: '*',
        ip_address: '192.0.2.1',
        current: true,
      },
    ]);
    for (const { id, created_at, last_used_at } of sessions)
      expect([id, last_used_at >= created_at]).toEqual([expect.stringMatching(/^ses_[\w-]+$/), true]);
  });

  test('a list of logins has no runs, one of runs nothing else, page by page', async () => {
    const own = await app.login(newAddress());
    const codes = await startDevice(app);
    await decideDevice(app, 'approve', codes, own);
    const { access_token } = (await pollDevice(app, codes)).body;
    for (const scope of ['profile', 'email']) await startedRun(app, access_token, { scope });
    const kinds = async (query: string) => {
      const { sessions, next_cursor } = await list(own, `?limit=1&${query}`);
      return [...sessions.map(({ kind }) => kind), next_cursor];
    };
    for (const [kind, listed] of Object.entries({ login: ['device', 'browser'], run: ['run', 'run'] })) {
      const [first, cursor] = await kinds(`kind=${kind}`);
      expect([first, ...(await kinds(`kind=${kind}&cursor=${cursor}`))]).toEqual([...listed, null]);
    }
    expect((await list(own)).sessions).toHaveLength(4);
    const { status, body } = await app.ask('GET', '/sessions?kind=key', { token: own.access_token });
    expect([status, body.error_description]).toEqual([400, expect.stringMatching(/^kind:/)]);
  });

  test('refreshes and requests update last_used_at', async () => {
    const { access_token, refresh_token } = await app.login(newAddress());
    const usedAt = async (access_token: string) => {
      const [session] = (await list({ access_token })).sessions;
      return Date.parse(session!.last_used_at);
    };
    const before = await usedAt(access_token);
    app.pass(60);
    const { body } = await app.ask('POST', '/refresh', { json: { refresh_token } });
    const after = await usedAt(body.access_token);
    expect(after - before).toBeGreaterThanOrEqual(60_000);
    app.pass(600);
    // The response does not wait for the use to be recorded.
    await until(async () => (await usedAt(body.access_token)) - after >= 600_000, 'the use to be recorded');
  });

  test('what looks for the sign-ins, keys or runs of an account reads only those, and no runs that have ended', async () => {
    const email = newAddress();
    const own = await app.login(email);
    const before = app.statements.length;
    await signInByMail(app, email, { headers: { 'User-Agent': 'Another/1.0' } });
    for (const path of ['/sessions', '/keys']) await app.ask('GET', path, { token: own.access_token });
    await createdKey(app, own);
    await disown(app, email, subjects.newBrowser);
    const texts = app.statements.slice(before).filter((text) => /"sessions".* "user_id" = /.test(text));
    const plans = await Promise.all([...new Set(texts)].map((text) => planOf(app, text)));
    const count = (plan: string, pattern: RegExp) => plan.match(pattern)?.length ?? 0;
    for (const plan of plans) {
      expect(plan).not.toMatch(/Seq Scan on sessions|SCAN sessions/);
      expect(count(plan, /user_id ?= ?\S+ AND \(?kind ?=/g), plan).toBe(count(plan, /sessions_by_kind/g));
    }
    // The list, what is undone before and after, and the end of it.
    expect(plans.filter((plan) => plan.includes('runs_by_user'))).toHaveLength(3);
  });
});
