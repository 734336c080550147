import { expect, test } from 'bun:test';
import { cookieByMail, outcome, sameOrigin } from '#support/account.ts';
import { onBothDatabases, type TestApp, type Tokens } from '#support/app.ts';
import { auditLogs } from '../../security-log/events/auditing.ts';
import { handlePrefix, readHandle } from './handle.ts';
import { generateKey, type KeyRing, parseKeyRing } from './primitives.ts';

const [older, newer] = [generateKey(), generateKey()];

onBothDatabases('key ring rotation', (open) => {
  /** A node with the older key only, and a function that starts another node on its database under another ring. */
  async function rotate() {
    const before = await open({ settings: { LATCHKEY_KEYS: older } });
    const under = (keys: string, more: Record<string, string> = {}) =>
      open({ beside: before, settings: { LATCHKEY_KEYS: keys, ...more } });
    return { before, under };
  }

  const refresh = (app: TestApp, refresh_token: string) =>
    app.ask('POST', '/refresh', { json: { refresh_token } });
  const signedBy = (keys: KeyRing, tokens: Tokens) =>
    readHandle(keys, 'accessToken', tokens.access_token) !== undefined &&
    readHandle(keys, 'refreshToken', tokens.refresh_token) !== undefined;

  test('tokens under an older key of the ring stay valid, and a refresh moves them to the newest key', async () => {
    const { before, under } = await rotate();
    const tokens = await before.login();
    expect(signedBy(parseKeyRing(older), tokens)).toBe(true);

    const after = await under(`${newer},${older}`);
    expect((await after.ask('GET', '/me', { token: tokens.access_token })).status).toBe(200);
    const refreshed = await refresh(after, tokens.refresh_token);
    expect(refreshed.status).toBe(200);
    expect(signedBy(parseKeyRing(newer), refreshed.body)).toBe(true);
    expect(signedBy(parseKeyRing(older), refreshed.body)).toBe(false);

    const retired = await under(newer);
    expect((await retired.ask('GET', '/me', { token: refreshed.body.access_token })).status).toBe(200);
    expect((await refresh(retired, refreshed.body.refresh_token)).status).toBe(200);
  });

  async function expectRefused(app: TestApp, tokens: Tokens): Promise<void> {
    expect(outcome(await app.ask('GET', '/me', { token: tokens.access_token }))).toBe('401 invalid_token');
    expect(outcome(await refresh(app, tokens.refresh_token))).toBe('400 invalid_grant');
  }

  test('tokens under a key that left the ring are refused, while retired keys still verify the security log', async () => {
    const { before, under } = await rotate();
    const tokens = await before.login();
    await expectRefused(await under(newer), tokens);
    const after = await under(newer, { LATCHKEY_RETIRED_KEYS: older });
    await expectRefused(after, tokens);
    expect(outcome(await refresh(before, tokens.refresh_token))).toBe('200');

    await after.login();
    const audits = async (app: TestApp) => (await Array.fromAsync(auditLogs(app.ctx, undefined)))[0]!.audit;
    expect(await audits(after)).toMatchObject({ findings: [], events: 3, retired: 0 });
    const forgotten = await under(newer);
    expect(await audits(forgotten)).toMatchObject({ findings: [], events: 3, retired: 2 });
  });

  test('a session cookie under an older key stays valid and is replaced by one under the newest key', async () => {
    const { before, under } = await rotate();
    const cookie = await cookieByMail(before, 'grace@example.com');
    const unchanged = await before.ask('GET', '/me', { cookie, headers: sameOrigin });
    expect(unchanged.status).toBe(200);
    expect(unchanged.headers.get('Set-Cookie')).toBeNull();

    const after = await under(`${newer},${older}`);
    const me = await after.ask('GET', '/me', { cookie, headers: sameOrigin });
    expect(me.status).toBe(200);
    const renewed = me.headers.get('Set-Cookie')?.split(';')[0];
    expect(renewed).toContain(handlePrefix.browserSession);
    expect(renewed).not.toBe(cookie);

    const retired = await under(newer);
    const withOld = await retired.ask('GET', '/me', { cookie, headers: sameOrigin });
    expect([withOld.status, withOld.body.error]).toEqual([401, 'invalid_token']);
    const withNew = await retired.ask('GET', '/me', { cookie: renewed!, headers: sameOrigin });
    expect(withNew.status).toBe(200);
    expect(withNew.headers.get('Set-Cookie')).toBeNull();
  });

  test('user codes, device codes and mailed codes under an older key stay valid', async () => {
    const { before, under } = await rotate();
    const { user_code, device_code } = (await before.ask('POST', '/device')).body;
    const asked = await before.ask('POST', '/magic_link', { json: { email: 'ada@example.com' } });
    const [mail] = await before.mails();

    const after = await under(`${newer},${older}`);
    const json = { request: asked.body.request, code: mail?.code };
    const token = (await after.ask('POST', '/magic_link/verify', { json })).body.access_token;
    expect(outcome(await after.ask('POST', '/device/approve', { json: { user_code }, token }))).toBe('204');
    const redeemed = await after.ask('POST', '/token', { json: { device_code } });
    expect(outcome(redeemed)).toBe('200');
    expect(signedBy(parseKeyRing(newer), redeemed.body)).toBe(true);
  });

  test('a retried refresh returns the same successor after a key rotation', async () => {
    const { before, under } = await rotate();
    const tokens = await before.login();
    const repeated = {
      json: { refresh_token: tokens.refresh_token },
      headers: { 'Idempotency-Key': 'across the rotation' },
    };
    const first = await before.ask('POST', '/refresh', repeated);
    const after = await under(`${newer},${older}`);
    const again = await after.ask('POST', '/refresh', repeated);
    expect([first.status, again.status]).toEqual([200, 200]);
    const handleOf = (response: typeof first) =>
      readHandle(parseKeyRing(`${newer},${older}`), 'refreshToken', response.body.refresh_token);
    expect(handleOf(again)?.value).toBe(handleOf(first)!.value);
    expect(handleOf(again)?.subject).toEqual(handleOf(first)!.subject);
  });
});
