import { beforeAll, describe, expect, test } from 'bun:test';
import { outcome } from '../../../../../tests/support/account.ts';
import { onBothDatabases, sharedNodes, type TestApp, type Tokens } from '../../../../../tests/support/app.ts';
import { until } from '../../../../../tests/support/until.ts';

const pending = '400 authorization_pending';
const grant_type = 'urn:ietf:params:oauth:grant-type:device_code';

onBothDatabases('a poll that prefers to wait', (open, dialect) => {
  const { app, node: other } = sharedNodes(open, dialect);
  let browser: Tokens;
  beforeAll(async () => {
    browser = await app.login();
    // A node listens from its first held poll on.
    for (const node of new Set([app, other])) {
      const poll = held(node, (await start()).device_code, 20);
      await isHeld();
      app.pass(20);
      await poll;
    }
  });

  const start = async (): Promise<{ device_code: string; user_code: string }> =>
    (await app.ask('POST', '/device')).body;
  const decide = async (decision: 'approve' | 'deny', user_code: string, node = other) => {
    const { access_token: token } = browser;
    expect((await node.ask('POST', `/device/${decision}`, { json: { user_code }, token })).status).toBe(204);
  };
  const poll = (device_code: string, headers: Record<string, string> = {}, node = app) =>
    node.ask('POST', '/token', { json: { device_code }, headers });
  const held = (node: TestApp, device_code: string, wait: number | string, key?: string) =>
    poll(
      device_code,
      { Prefer: `wait=${wait}`, ...(key === undefined ? {} : { 'Idempotency-Key': key }) },
      node,
    );
  /** Resolves once polls that wait for 20 s are held. */
  const isHeld = (polls = 1) => app.untilWaiting(polls, 15);
  /** A poll whose client goes away when the returned function is called. */
  const abandonable = (device_code: string) => {
    const client = new AbortController();
    const answer = app.fetch(`${app.ctx.config.baseUrl}/api/v1/auth/token`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Prefer: 'wait=20' },
      body: JSON.stringify({ device_code }),
      signal: client.signal,
    });
    return { answer, leave: () => client.abort() };
  };
  const sessionsOf = async () =>
    (await app.api.call('listSessions', { accessToken: browser.access_token })).sessions.filter(
      ({ kind }) => kind === 'device',
    ).length;

  test('is answered with the tokens as soon as the user approves, on whichever node', async () => {
    const { device_code, user_code } = await start();
    const poll = held(app, device_code, 20);
    await isHeld();
    await decide('approve', user_code);
    const answer = await poll;
    expect(answer.status).toBe(200);
    expect(answer.body.access_token).toStartWith('lk_at_');
    expect(answer.headers.get('Preference-Applied')).toBe('wait=20');
  });

  test('is refused as soon as the user denies, also as a form', async () => {
    const { device_code, user_code } = await start();
    const poll = app.ask('POST', '/token', {
      form: { grant_type, device_code },
      headers: { Prefer: 'wait=20' },
    });
    await isHeld();
    await decide('deny', user_code);
    const answer = await poll;
    expect([outcome(answer), answer.headers.get('Preference-Applied')]).toEqual([
      '400 access_denied',
      'wait=20',
    ]);
  });

  test('is answered as soon as the device cancels, on whichever node', async () => {
    const { device_code } = await start();
    const poll = held(app, device_code, 20);
    await isHeld();
    await other.ask('POST', '/revoke', { form: { token: device_code } });
    const answer = await poll;
    expect(outcome(answer)).toBe('400 invalid_grant');
  });

  test('is answered after the time that it asked for', async () => {
    const { device_code } = await start();
    const waiting = held(app, device_code, 20);
    await isHeld();
    let isAnswered = false;
    void waiting.then(() => {
      isAnswered = true;
    });
    app.pass(19.9);
    // Any answer would be there before that of a later request.
    expect((await app.ask('GET', 'healthz')).status).toBe(200);
    expect(isAnswered).toBe(false);
    app.pass(0.1);
    const answer = await waiting;
    expect([outcome(answer), answer.headers.get('Preference-Applied')]).toEqual([pending, 'wait=20']);
  });

  test('is answered when the code expires', async () => {
    const { device_code } = await start();
    app.pass(app.ctx.config.deviceCodeTtlSeconds - 10);
    const waiting = held(app, device_code, 20);
    await app.untilWaiting(1, 9);
    app.pass(10);
    const answer = await waiting;
    expect([outcome(answer), answer.headers.get('Preference-Applied')]).toEqual([
      '400 expired_token',
      'wait=20',
    ]);
  });

  test('is answered at once if the user has already decided', async () => {
    for (const decision of ['approve', 'deny'] as const) {
      const { device_code, user_code } = await start();
      await decide(decision, user_code);
      const answer = await held(app, device_code, 20);
      expect(outcome(answer)).toBe(decision === 'approve' ? '200' : '400 access_denied');
      expect(answer.headers.has('Preference-Applied')).toBe(false);
    }
  });

  test('waits 25 s at most, and says so', async () => {
    const { device_code, user_code } = await start();
    const poll = held(app, device_code, 3600);
    await isHeld();
    await decide('approve', user_code);
    expect((await poll).headers.get('Preference-Applied')).toBe('wait=25');
  });

  test('is answered at once without a usable preference', async () => {
    for (const Prefer of [
      'respond-async',
      'wait',
      'wait=0',
      'wait=-1',
      'wait=1.5',
      'wait=soon',
      'awaits=5',
    ]) {
      const { device_code } = await start();
      const answer = await poll(device_code, { Prefer });
      expect([Prefer, outcome(answer)]).toEqual([Prefer, pending]);
      expect(answer.headers.has('Preference-Applied')).toBe(false);
    }
  });

  test('makes every other poll too early while it is held, on every node, and still gets the tokens', async () => {
    const { device_code, user_code } = await start();
    const first = held(app, device_code, 20);
    await isHeld();
    app.pass(10);
    const second = await held(other, device_code, 20);
    expect(second.body).toMatchObject({ error: 'slow_down', interval: 10 });
    expect((await poll(device_code)).body).toMatchObject({ error: 'slow_down', interval: 15 });
    await decide('approve', user_code);
    expect((await first).status).toBe(200);
  });

  test('starts the interval with its answer', async () => {
    const { device_code } = await start();
    const waiting = held(app, device_code, 20);
    await isHeld();
    app.pass(20);
    expect(outcome(await waiting)).toBe(pending);
    app.pass(3);
    expect(outcome(await poll(device_code))).toBe('400 slow_down');
    app.pass(7);
    expect(outcome(await poll(device_code))).toBe(pending);
  });

  test('redeems nothing once its client has gone, and the client may poll again after the interval', async () => {
    const { device_code, user_code } = await start();
    const before = await sessionsOf();
    const { answer, leave } = abandonable(device_code);
    await isHeld();
    leave();
    await answer;
    app.pass(5);
    expect(outcome(await poll(device_code))).toBe(pending);
    await decide('approve', user_code);
    expect(await sessionsOf()).toBe(before);
    expect(outcome(await poll(device_code))).toBe('200');
  });

  test('whose client leaves while it is redeemed has either answered with the tokens or left the code as it was', async () => {
    const { device_code, user_code } = await start();
    const before = await sessionsOf();
    const { answer, leave } = abandonable(device_code);
    await isHeld();
    const seen = app.statements.length;
    await decide('approve', user_code);
    await until(
      () => app.statements.slice(seen).some((text) => text.startsWith('insert into "sessions"')),
      'the statement that redeems the code',
    );
    leave();
    const isRedeemed = (await answer).status === 200;
    expect(await sessionsOf()).toBe(before + (isRedeemed ? 1 : 0));
    expect(outcome(await poll(device_code))).toBe(isRedeemed ? '400 invalid_grant' : '200');
  });

  test('repeats its tokens for a repeated request after a lost answer', async () => {
    const { device_code, user_code } = await start();
    const first = held(app, device_code, 20, 'lost');
    await isHeld();
    await decide('approve', user_code);
    const answer = await first;
    const again = await held(other, device_code, 20, 'lost');
    expect(again.status).toBe(200);
    expect(again.body.refresh_token).toBe(answer.body.refresh_token);
    expect(outcome(await held(app, device_code, 20, 'another'))).toBe('400 invalid_grant');
  });

  test('races with plain polls after the approval for one set of tokens', async () => {
    const { device_code, user_code } = await start();
    const waiting = held(app, device_code, 20);
    await isHeld();
    await decide('approve', user_code);
    const polls = await Promise.all(Array.from({ length: 20 }, () => poll(device_code, {}, other)));
    const answers = [...polls, await waiting].map(outcome);
    expect(answers.filter((one) => one === '200')).toHaveLength(1);
    expect(answers.filter((one) => one === '400 invalid_grant')).toHaveLength(20);
  });

  test('runs no statement while it waits', async () => {
    const { device_code, user_code } = await start();
    const { device_code: another } = await start();
    const polls = [held(app, device_code, 20), held(app, another, 20)];
    await isHeld(2);
    const seen = app.statements.length;
    app.pass(11);
    // On PostgreSQL one statement every 5 s looks up all of them together. A clock that jumps is looked at once.
    const lookups = () => app.statements.slice(seen).length;
    if (dialect === 'postgres') await until(() => lookups() === 1, 'the lookup');
    expect((await app.ask('GET', 'healthz')).status).toBe(200);
    expect(lookups()).toBe(dialect === 'postgres' ? 1 : 0);
    await decide('approve', user_code);
    app.pass(20);
    await Promise.all(polls);
  });

  test('is answered when the service stops, and its interval counts from that answer', async () => {
    const node = await open({ beside: app });
    const { device_code } = await start();
    const waiting = held(node, device_code, 20);
    await isHeld();
    node.stopWaiting();
    const answer = await waiting;
    expect([outcome(answer), answer.headers.get('Preference-Applied')]).toEqual([pending, 'wait=20']);
    expect(outcome(await held(node, (await start()).device_code, 20))).toBe(pending);
    await node.close();
    app.pass(5);
    expect(outcome(await poll(device_code))).toBe(pending);
  });

  if (dialect === 'postgres') {
    describe('without its listening connection', () => {
      const listeners = "SELECT pid FROM pg_stat_activity WHERE application_name = 'latchkey listener'";
      const here = `${listeners} AND datname = current_database()`;

      /** A connection that was lost comes back after a moment, and that of a stopped node can outlive it for one. */
      async function expectListeners(count: number): Promise<void> {
        let found = 0;
        await until(
          async () => {
            found = (await app.ctx.db.read.run(here, [])).length;
            return found === count;
          },
          () => `${count} listening connections instead of ${found}`,
        );
      }

      test('uses one connection for each node', async () => {
        await expectListeners(2);
      });

      test('is answered by the lookup, and by a notification once the connection is back', async () => {
        const { device_code, user_code } = await start();
        const waiting = held(app, device_code, 20);
        await isHeld();
        const lost = `SELECT pg_terminate_backend(pid) FROM (${here}) AS listening`;
        await app.ctx.db.single.run(lost, []);
        await decide('approve', user_code);
        app.pass(5);
        expect((await waiting).status).toBe(200);
        await expectListeners(2);
        const next = await start();
        const again = held(app, next.device_code, 20);
        await isHeld();
        await decide('approve', next.user_code);
        expect((await again).status).toBe(200);
      });
    });
  }
});
