import { beforeAll, describe, expect, test } from 'bun:test';
import { deviceCodeGrantType } from '@latchkey/contract/tokens';
import { outcome } from '#support/account.ts';
import { type Answer, onBothDatabases, sharedNodes, type TestApp, type Tokens } from '#support/app.ts';
import { requestFor } from '#support/ask.ts';
import { cancelDevice, type DeviceCodes, decideDevice, pollDevice, startDevice } from '#support/devices.ts';
import { until } from '#support/until.ts';

const pending = '400 authorization_pending';

/** The outcome of a poll, and how long it says that it has waited. */
const applied = (answer: Answer) => [outcome(answer), answer.headers.get('Preference-Applied')];

onBothDatabases('a poll that prefers to wait', (open, dialect) => {
  const { app, node: other } = sharedNodes(open, dialect);
  let browser: Tokens;
  beforeAll(async () => {
    browser = await app.login();
    // A node listens from its first held poll on.
    for (const node of new Set([app, other])) {
      const poll = held(await startDevice(app), { node });
      await isHeld();
      app.pass(20);
      await poll;
    }
  });

  const decide = async (decision: 'approve' | 'deny', codes: DeviceCodes) =>
    expect((await decideDevice(other, decision, codes, browser)).status).toBe(204);
  const held = (codes: DeviceCodes, { node = app, wait = '20', headers = {} } = {}) =>
    pollDevice(node, codes, { Prefer: `wait=${wait}`, ...headers });
  /** Resolves once polls that wait for 20 s are held. */
  const isHeld = (polls = 1) => app.untilWaiting(polls, 15);
  /** A poll whose client goes away when the returned function is called. */
  const abandonable = (device_code: string) => {
    const client = new AbortController();
    const ask = { json: { device_code }, headers: { Prefer: 'wait=20' } };
    const [url, sent] = requestFor(app.ctx.config.baseUrl, 'POST', '/token', ask);
    return { answer: app.fetch(url, { ...sent, signal: client.signal }), leave: () => client.abort() };
  };
  const sessionsOf = async () =>
    (await app.api.call('listSessions', { accessToken: browser.access_token })).sessions.filter(
      ({ kind }) => kind === 'device',
    ).length;

  test.each<[string, (codes: DeviceCodes, node: TestApp) => Promise<unknown>, string]>([
    ['the user approves', (codes) => decide('approve', codes), '200'],
    ['the user denies', (codes) => decide('deny', codes), '400 access_denied'],
    ['the device cancels', (codes, node) => cancelDevice(node, codes), '400 invalid_grant'],
  ])('is answered as soon as %s, on whichever node, and at once afterwards', async (_, end, expected) => {
    for (const isForm of [true, false]) {
      const codes = await startDevice(app);
      const { device_code } = codes;
      const form = { grant_type: deviceCodeGrantType, device_code };
      // It waits for 25 s at most.
      const poll = isForm
        ? app.ask('POST', '/token', { form, headers: { Prefer: 'wait=3600' } })
        : held(codes, { wait: '3600' });
      await isHeld();
      await end(codes, other);
      expect(applied(await poll)).toEqual([expected, 'wait=25']);
      const late = await startDevice(app);
      await end(late, other);
      expect(applied(await held(late))).toEqual([expected, null]);
    }
  });

  test('is answered after the time that it asked for, which is when its interval begins', async () => {
    const codes = await startDevice(app);
    const waiting = held(codes);
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
    expect(applied(await waiting)).toEqual([pending, 'wait=20']);
    app.pass(3);
    expect(outcome(await pollDevice(app, codes))).toBe('400 slow_down');
    app.pass(7);
    expect(outcome(await pollDevice(app, codes))).toBe(pending);
  });

  test('is answered when the code expires, and at once without a usable preference', async () => {
    const codes = await startDevice(app);
    app.pass(app.ctx.config.deviceCodeTtlSeconds - 10);
    const waiting = held(codes);
    await app.untilWaiting(1, 9);
    app.pass(10);
    expect(applied(await waiting)).toEqual(['400 expired_token', 'wait=20']);
    for (const wait of ['0', 'soon'])
      expect(applied(await held(await startDevice(app), { wait }))).toEqual([pending, null]);
  });

  test('makes every other poll too early while it is held, on every node, and still gets the tokens', async () => {
    const codes = await startDevice(app);
    const first = held(codes);
    await isHeld();
    app.pass(10);
    const second = await held(codes, { node: other });
    expect(second.body).toMatchObject({ error: 'slow_down', interval: 10 });
    expect((await pollDevice(app, codes)).body).toMatchObject({ error: 'slow_down', interval: 15 });
    await decide('approve', codes);
    expect((await first).status).toBe(200);
  });

  test('redeems nothing once its client has gone, and the client may poll again after the interval', async () => {
    const codes = await startDevice(app);
    const before = await sessionsOf();
    const { answer, leave } = abandonable(codes.device_code);
    await isHeld();
    leave();
    await answer;
    app.pass(5);
    expect(outcome(await pollDevice(app, codes))).toBe(pending);
    await decide('approve', codes);
    expect(await sessionsOf()).toBe(before);
    expect(outcome(await pollDevice(app, codes))).toBe('200');
  });

  test('whose client leaves while it is redeemed has either answered with the tokens or left the code as it was', async () => {
    const codes = await startDevice(app);
    const before = await sessionsOf();
    const { answer, leave } = abandonable(codes.device_code);
    await isHeld();
    const seen = app.statements.length;
    await decide('approve', codes);
    await until(
      () => app.statements.slice(seen).some((text) => text.startsWith('insert into "sessions"')),
      'the statement that redeems the code',
    );
    leave();
    const isRedeemed = (await answer).status === 200;
    expect(await sessionsOf()).toBe(before + (isRedeemed ? 1 : 0));
    expect(outcome(await pollDevice(app, codes))).toBe(isRedeemed ? '400 invalid_grant' : '200');
  });

  test('repeats its tokens for a repeated request after a lost answer', async () => {
    const codes = await startDevice(app);
    const lost = { 'Idempotency-Key': 'lost' };
    const first = held(codes, { headers: lost });
    await isHeld();
    await decide('approve', codes);
    const answer = await first;
    const again = await held(codes, { node: other, headers: lost });
    expect(again.status).toBe(200);
    expect(again.body.refresh_token).toBe(answer.body.refresh_token);
    expect(outcome(await held(codes, { headers: { 'Idempotency-Key': 'another' } }))).toBe(
      '400 invalid_grant',
    );
  });

  test('runs no statement while it waits', async () => {
    const codes = await startDevice(app);
    const polls = [held(codes), held(await startDevice(app))];
    await isHeld(2);
    const seen = app.statements.length;
    app.pass(11);
    // On PostgreSQL one statement every 5 s looks up all of them together. A clock that jumps is looked at once.
    const lookups = () => app.statements.slice(seen).length;
    if (dialect === 'postgres') await until(() => lookups() === 1, 'the lookup');
    expect((await app.ask('GET', 'healthz')).status).toBe(200);
    expect(lookups()).toBe(dialect === 'postgres' ? 1 : 0);
    await decide('approve', codes);
    app.pass(20);
    await Promise.all(polls);
  });

  test('is answered when the service stops, and its interval counts from that answer', async () => {
    const node = await open({ beside: app });
    const codes = await startDevice(app);
    const waiting = held(codes, { node });
    await isHeld();
    node.stopWaiting();
    expect(applied(await waiting)).toEqual([pending, 'wait=20']);
    expect(outcome(await held(await startDevice(app), { node }))).toBe(pending);
    await node.close();
    app.pass(5);
    expect(outcome(await pollDevice(app, codes))).toBe(pending);
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

      test('is answered by the lookup, and by a notification once the connection is back, of which each node has one', async () => {
        await expectListeners(2);
        const codes = await startDevice(app);
        const waiting = held(codes);
        await isHeld();
        const lost = `SELECT pg_terminate_backend(pid) FROM (${here}) AS listening`;
        await app.ctx.db.single.run(lost, []);
        await decide('approve', codes);
        app.pass(5);
        expect((await waiting).status).toBe(200);
        await expectListeners(2);
        const next = await startDevice(app);
        const again = held(next);
        await isHeld();
        await decide('approve', next);
        expect((await again).status).toBe(200);
      });
    });
  }
});
