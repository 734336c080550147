// The session that approving a device will start: `session_id` in the response of /device/verify.

import { beforeAll, expect, test } from 'bun:test';
import { outcome } from '../../../../../tests/support/account.ts';
import { onBothDatabases, type Tokens } from '../../../../../tests/support/app.ts';
import { loggedEvents } from '../../../../../tests/support/security-log.ts';
import { shared } from '../../../../../tests/support/shared.ts';

onBothDatabases('the session_id of a pending device', (open) => {
  const app = shared(open);
  let ada: Tokens;
  let stranger: Tokens;
  beforeAll(async () => {
    ada = await app.login();
    stranger = await app.login('stranger@example.com');
  });

  const start = async (): Promise<{ device_code: string; user_code: string }> =>
    (await app.ask('POST', '/device')).body;
  const decide = (action: 'verify' | 'approve', user_code: string, { access_token: token } = ada) =>
    app.ask('POST', `/device/${action}`, { json: { user_code }, token });
  const sessionIdOf = async (user_code: string): Promise<string> =>
    (await decide('verify', user_code)).body.session_id;
  const poll = (device_code: string) => app.ask('POST', '/token', { json: { device_code } });
  const revoke = (id: string, { access_token: token }: Tokens) =>
    app.ask('DELETE', `/sessions/${id}`, { token });
  const sessionsOf = async ({ access_token: token }: Tokens): Promise<string[]> =>
    (await app.ask('GET', '/sessions', { token })).body.sessions.map(({ id }: { id: string }) => id);

  test('verify names the session that each device will get, in whatever order two devices poll', async () => {
    const [one, two] = [await start(), await start()];
    const [first, second] = [await sessionIdOf(one.user_code), await sessionIdOf(two.user_code)];
    expect(first).toMatch(/^ses_/);
    expect(first).not.toBe(second);
    expect((await decide('verify', one.user_code, stranger)).body.session_id).toBe(first);
    for (const { user_code } of [one, two]) expect(outcome(await decide('approve', user_code))).toBe('204');
    const before = await sessionsOf(ada);
    expect([before.includes(first), before.includes(second)]).toEqual([false, false]);

    const { body } = await poll(two.device_code);
    expect(await sessionsOf(ada)).toContain(second);
    expect(await sessionsOf(ada)).not.toContain(first);
    const { sessions } = (await app.ask('GET', '/sessions', { token: body.access_token })).body;
    expect(sessions.find(({ current }: { current: boolean }) => current).id).toBe(second);
    await poll(one.device_code);
    expect(await sessionsOf(ada)).toContain(first);
  });

  test('the session stays in the security log even if its device signs out at once', async () => {
    const { device_code, user_code } = await start();
    const id = await sessionIdOf(user_code);
    await decide('approve', user_code);
    const { access_token: token } = (await poll(device_code)).body;
    expect(outcome(await app.ask('POST', '/revoke', { token, json: { scope: 'session' } }))).toBe('204');
    expect(await sessionsOf(ada)).not.toContain(id);
    const events = (await loggedEvents(app, ada)).filter(({ session_id }) => session_id === id);
    expect(events.map(({ type }) => type)).toEqual(['session_revoked', 'login']);
  });

  test('the session cannot be revoked before its approval, and afterwards only by its owner', async () => {
    const { device_code, user_code } = await start();
    const id = await sessionIdOf(user_code);
    for (const user of [ada, stranger]) expect(outcome(await revoke(id, user))).toBe('404 not_found');
    expect(outcome(await decide('approve', user_code))).toBe('204');
    expect(outcome(await revoke(id, stranger))).toBe('404 not_found');
    const { status, body } = await poll(device_code);
    expect(status).toBe(200);
    expect(outcome(await revoke(id, stranger))).toBe('404 not_found');
    expect(outcome(await app.ask('GET', '/me', { token: body.access_token }))).toBe('200');
    expect(outcome(await revoke(id, ada))).toBe('204');
    expect(outcome(await app.ask('GET', '/me', { token: body.access_token }))).toBe('401 invalid_token');
  });

  test('a device whose approval was withdrawn never gets its session', async () => {
    const { device_code, user_code } = await start();
    const id = await sessionIdOf(user_code);
    await decide('approve', user_code);
    expect(outcome(await revoke(id, ada))).toBe('204');
    expect(outcome(await revoke(id, ada))).toBe('404 not_found');
    expect(outcome(await poll(device_code))).toBe('400 access_denied');
    expect(outcome(await decide('approve', user_code))).toBe('400 invalid_grant');
    expect((await loggedEvents(app, ada, 'session_revoked'))[0]).toMatchObject({
      session_id: id,
      detail: { reason: 'withdrawn' },
    });
  });

  test('withdrawing an approval while the device polls never leaves an active session', async () => {
    for (let round = 0; round < 10; round++) {
      const { device_code, user_code } = await start();
      const id = await sessionIdOf(user_code);
      await decide('approve', user_code);
      const [revoked, polled] = await Promise.all([revoke(id, ada), poll(device_code)]);
      expect(outcome(revoked)).toBe('204');
      if (polled.status !== 200) expect(outcome(polled)).toBe('400 access_denied');
      else
        expect(outcome(await app.ask('GET', '/me', { token: polled.body.access_token }))).toBe(
          '401 invalid_token',
        );
    }
  });
});
