import { expect, test } from 'bun:test';
import { outcome } from '../../../../tests/support/account.ts';
import { onBothDatabases, type TestApp } from '../../../../tests/support/app.ts';
import { codeFor, commandLineRequest, redeem } from '../../../../tests/support/authorize.ts';

const hour = 3600;
const day = 24 * hour;

const refresh = (app: TestApp, refresh_token: string) =>
  app.ask('POST', '/refresh', { json: { refresh_token } });
const me = async (app: TestApp, token: string) => outcome(await app.ask('GET', '/me', { token }));

onBothDatabases('session lifetimes', (open) => {
  let app: TestApp;
  const start = async (settings: Record<string, string> = {}) => {
    app = await open({ settings });
    return app.login();
  };

  test('an access token expires after 14,400 s', async () => {
    const tokens = await start();
    expect(tokens).toMatchObject({ token_type: 'Bearer', expires_in: 14_400 });
    app.pass(14_340);
    expect(await me(app, tokens.access_token)).toBe('200');
    app.pass(60);
    expect(await me(app, tokens.access_token)).toBe('401 invalid_token');
    expect(outcome(await refresh(app, tokens.refresh_token))).toBe('200');
  });

  test('expires_in is never more than the lifetime, also by the clock of a node that is behind', async () => {
    const { access_token: token, refresh_token } = await start();
    const send = (path: string, json: object) =>
      app.ask('POST', path, { token, json, headers: { 'Idempotency-Key': 'key' } });
    const { user_code } = (await send('/device', {})).body;
    await send('/refresh', { refresh_token });
    app.pass(-0.3);
    expect((await send('/refresh', { refresh_token })).body.expires_in).toBe(14_400);
    expect((await send('/device/verify', { user_code })).body.expires_in).toBe(600);
  });

  test('an access token that outlives the idle timeout can still change, approve and end things', async () => {
    const tokens = await start({ LATCHKEY_REFRESH_IDLE_TTL: '600' });
    const { access_token: token, refresh_token } = tokens;
    app.pass(600);
    expect(outcome(await refresh(app, refresh_token))).toBe('400 invalid_grant');
    const request = commandLineRequest();
    const code = await codeFor(app, tokens, request);
    const { client_id, redirect_uri } = request;
    expect(outcome(await redeem(app, code, { client_id, redirect_uri }))).toBe('200');
    expect(await me(app, token)).toBe('200');
    expect(outcome(await app.ask('PATCH', '/me', { token, json: { name: 'Ada' } }))).toBe('200');
    expect(outcome(await app.ask('POST', '/revoke', { token }))).toBe('204');
    expect(await me(app, token)).toBe('401 invalid_token');
  });

  test('a refresh within the idle timeout restarts it', async () => {
    let { refresh_token } = await start();
    for (let i = 0; i < 3; i++) {
      app.pass(30 * day - hour);
      const answer = await refresh(app, refresh_token);
      expect(outcome(answer)).toBe('200');
      refresh_token = answer.body.refresh_token;
    }
    app.pass(30 * day);
    expect(outcome(await refresh(app, refresh_token))).toBe('400 invalid_grant');
  });

  test('a session ends after its absolute lifetime of 180 days even if it is in use, and no token outlives it', async () => {
    let { refresh_token } = await start();
    for (let days = 20; days < 180; days += 20) {
      app.pass(20 * day);
      refresh_token = (await refresh(app, refresh_token)).body.refresh_token;
    }
    app.pass(20 * day - hour);
    const last = await refresh(app, refresh_token);
    expect(outcome(last)).toBe('200');
    expect(last.body.expires_in).toBeLessThanOrEqual(hour);
    expect(last.body.expires_in).toBeGreaterThan(hour - 60);
    expect(await me(app, last.body.access_token)).toBe('200');
    app.pass(hour);
    expect(await me(app, last.body.access_token)).toBe('401 invalid_token');
    expect(outcome(await refresh(app, last.body.refresh_token))).toBe('400 invalid_grant');
  });

  test('reuse of a refresh token after the idle timeout is not recorded as a theft', async () => {
    const tokens = await start();
    await refresh(app, tokens.refresh_token);
    app.pass(30 * day);
    expect(outcome(await refresh(app, tokens.refresh_token))).toBe('400 invalid_grant');
    const events = await app.ctx.db.read.run<{ type: string }>('SELECT type FROM events', []);
    expect(events.map(({ type }) => type)).not.toContain('refresh_theft');
  });

  test('the sweep deletes sessions in browsers 31 days after their absolute lifetime and keeps active ones', async () => {
    const { refresh_token } = await start();
    app.pass(29 * day);
    await app.sweep();
    const next = await refresh(app, refresh_token);
    expect(outcome(next)).toBe('200');
    app.pass(183 * day);
    await app.sweep();
    expect(await app.ctx.db.read.run('SELECT id FROM sessions', [])).toEqual([]);
    expect(outcome(await refresh(app, next.body.refresh_token))).toBe('400 invalid_grant');
  });

  test('each lifetime follows its setting', async () => {
    const tokens = await start({
      LATCHKEY_ACCESS_TOKEN_TTL: '600',
      LATCHKEY_REFRESH_IDLE_TTL: '7200',
      LATCHKEY_SESSION_TTL: '10800',
    });
    expect(tokens.expires_in).toBe(600);
    app.pass(600);
    expect(await me(app, tokens.access_token)).toBe('401 invalid_token');
    app.pass(6000);
    const next = (await refresh(app, tokens.refresh_token)).body;
    expect(next.expires_in).toBe(600);
    app.pass(4200);
    expect(outcome(await refresh(app, next.refresh_token))).toBe('400 invalid_grant');
  });

  test('an absolute lifetime shorter than the idle timeout still ends the session', async () => {
    const tokens = await start({ LATCHKEY_SESSION_TTL: '300' });
    expect(tokens.expires_in).toBe(300);
    app.pass(300);
    expect(await me(app, tokens.access_token)).toBe('401 invalid_token');
    expect(outcome(await refresh(app, tokens.refresh_token))).toBe('400 invalid_grant');
  });
});
