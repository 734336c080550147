// How long sessions last. tests/invariants/properties.test.ts refreshes and waits in any order.

import { expect, test } from 'bun:test';
import { disown, outcome, signInByMail, subjects } from '#support/account.ts';
import { onBothDatabases, type TestApp } from '#support/app.ts';
import { codeFor, commandLineRequest, redeem } from '#support/authorize.ts';
import { countEvents } from '#support/security-log.ts';

const ada = 'ada@example.com';
const hour = 3600;
const day = 24 * hour;

onBothDatabases('session lifetimes', (open) => {
  let app: TestApp;
  const start = async (settings: Record<string, string> = {}) => {
    app = await open({ settings });
    return app.login();
  };
  const refresh = (refresh_token: string) => app.ask('POST', '/refresh', { json: { refresh_token } });
  const requireEnded = async (refresh_token: string) =>
    expect(outcome(await refresh(refresh_token))).toBe('400 invalid_grant');
  const listed = async (token: string) => (await app.ask('GET', '/sessions', { token })).body.sessions.length;
  const me = async (token: string) => outcome(await app.ask('GET', '/me', { token }));

  test('an access token that outlives the idle timeout can still change, approve and end things, and keeps its session listed and undone', async () => {
    const tokens = await start({ LATCHKEY_REFRESH_IDLE_TTL: '600' });
    const { access_token: token, refresh_token } = tokens;
    const { body: thief } = await signInByMail(app, ada, { headers: { 'User-Agent': 'Thief/1.0' } });
    app.pass(600);
    await requireEnded(refresh_token);
    expect(await listed(token)).toBe(2);
    expect((await disown(app, ada, subjects.newBrowser)).body.sessions_ended).toBe(1);
    expect(await app.ctx.db.read.run('SELECT seq FROM feed_events', [])).toHaveLength(1);
    expect([await me(thief.access_token), await listed(token)]).toEqual(['401 invalid_token', 1]);
    const request = commandLineRequest();
    const code = await codeFor(app, tokens, request);
    const { client_id, redirect_uri } = request;
    expect(outcome(await redeem(app, code, { client_id, redirect_uri }))).toBe('200');
    expect(await me(token)).toBe('200');
    expect(outcome(await app.ask('PATCH', '/me', { token, json: { name: 'Ada' } }))).toBe('200');
    expect(outcome(await app.ask('POST', '/revoke', { token }))).toBe('204');
    expect(await me(token)).toBe('401 invalid_token');
    await app.login();
    app.pass(4 * hour);
    expect(await listed((await app.login()).access_token)).toBe(1);
  });

  test('a session ends 30 days after its last refresh, which is no theft, and is swept 31 days after its lifetime', async () => {
    const { refresh_token } = await start();
    app.pass(29 * day);
    await app.sweep();
    const { body: next } = await refresh(refresh_token);
    app.pass(30 * day - 60);
    expect(outcome(await refresh(next.refresh_token))).toBe('200');
    app.pass(30 * day);
    await requireEnded(next.refresh_token);
    expect(await countEvents(app, 'refresh_theft')).toBe(0);
    app.pass(123 * day);
    await app.sweep();
    expect(await app.ctx.db.read.run('SELECT id FROM sessions', [])).toEqual([]);
    await requireEnded(next.refresh_token);
  });

  test.each([
    ['by default', {}, 4 * hour, 20 * day, 180 * day],
    [
      'as set',
      {
        LATCHKEY_ACCESS_TOKEN_TTL: '600',
        LATCHKEY_REFRESH_IDLE_TTL: '7200',
        LATCHKEY_SESSION_TTL: '10800',
      },
      600,
      6_600,
      10_800,
    ],
    ['shorter than an access token', { LATCHKEY_SESSION_TTL: '300' }, 300, 300, 300],
  ])(
    'an access token and a session in use end after their lifetime, %s, and no token outlives the session',
    async (_, settings, access, use, session) => {
      const tokens = await start(settings);
      expect(tokens.expires_in).toBe(access);
      app.pass(access);
      expect(await me(tokens.access_token)).toBe('401 invalid_token');
      let { refresh_token } = tokens;
      for (let passed = access; passed < session; passed += use) {
        const { body: next } = await refresh(refresh_token);
        const left = Math.min(access, session - passed);
        expect(next.expires_in).toBeWithin(left - 60, left + 1);
        refresh_token = next.refresh_token;
        app.pass(Math.min(use, session - passed));
      }
      await requireEnded(refresh_token);
    },
  );
});
