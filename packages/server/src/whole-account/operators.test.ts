// What a service with the right `operate` sees and may do, on both databases. That it can do nothing else: tests/invariants/access.test.ts.

import { expect, test } from 'bun:test';
import { operatorEndpoints } from '@latchkey/contract/users';
import { addPasskey, isLive, newAuthenticator } from '#support/account.ts';
import { onBothDatabases, type TestApp } from '#support/app.ts';
import { createdKey } from '#support/keys.ts';
import { loggedEvents, signedIn } from '#support/security-log.ts';
import { declareService } from '#support/services.ts';
import { fresh } from '#support/shared.ts';
import { templates } from '../app.ts';

/** Registers an operator, whose key is no token. */
async function operatorOf(t: TestApp) {
  const { id, secret, key, authorization } = await declareService(t.ctx, { rights: ['operate'] });
  const headers = { Authorization: authorization };
  const ask = (method: string, path: string, json?: object) => t.ask(method, path, { headers, json });
  for (const token of [secret, key, id])
    expect((await t.ask('GET', '/me', { token })).body.error).toBe('invalid_token');
  return { id, ask };
}

onBothDatabases('operators', (open) => {
  const t = fresh(open);

  // What services learn of it is tested in tests/invariants/operations.test.ts.
  test('each act takes effect at once, on this user alone, and is seen in the log of the user with who did it', async () => {
    const { ask, id: by } = await operatorOf(t);
    const { userId: user, ...ada } = await signedIn(t);
    const [phone, laptop] = [await t.deviceLogin(ada), await t.deviceLogin(ada)];
    const listed = await ask('GET', `/users/${user}/sessions`);
    expect(listed.body).toEqual({
      sessions: expect.arrayContaining([
        expect.objectContaining({ kind: 'browser' }),
        expect.objectContaining({ kind: 'device' }),
      ]),
      next_cursor: null,
    });
    expect(JSON.stringify(listed.body)).not.toContain('current');

    // Unknown users, and sessions of others: tests/invariants/access.test.ts.
    const [newest] = listed.body.sessions;
    for (const one of [ada, phone, laptop]) expect(await isLive(t, one)).toBe(true);
    expect((await ask('DELETE', `/users/${user}/sessions/${newest.id}`)).status).toBe(204);
    expect(await Promise.all([ada, phone, laptop].map((one) => isLive(t, one)))).toContain(false);
    expect((await ask('DELETE', `/users/${user}/sessions/${newest.id}`)).status).toBe(404);
    expect((await ask('DELETE', `/users/${user}/sessions`)).status).toBe(204);
    for (const one of [ada, phone, laptop]) expect(await isLive(t, one)).toBe(false);

    const again = await t.login();
    for (const act of ['disable', 'disable', 'enable', 'enable']) {
      expect((await ask('POST', `/users/${user}/${act}`)).status).toBe(204);
      expect((await ask('GET', `/users/${user}`)).body.disabled).toBe(act === 'disable');
      expect(await isLive(t, again)).toBe(false);
    }

    const log = await loggedEvents(t, await t.login());
    const acts = log.filter(({ detail }) => detail?.by === by);
    expect(acts.map(({ type, detail }) => [type, detail])).toEqual([
      ['account_enabled', { by }],
      ['account_disabled', { by }],
      ['all_sessions_revoked', { by }],
      ['session_revoked', { reason: 'operator', by }],
    ]);
    expect((await ask('GET', `/users/${user}/events?limit=100`)).body.events).toEqual(log);
  });

  test('the emails to a user are listed with their outcome and without their content, also those to a former address', async () => {
    const { ask } = await operatorOf(t);
    const { userId: user, ...ada } = await signedIn(t);
    await t.deviceLogin(ada);
    await t.ask('POST', '/magic_link', { json: { email: 'ada@example.com' } });
    await t.ask('POST', '/me/email', { token: ada.access_token, json: { email: 'new@example.com' } });
    const emails = async (): Promise<Record<string, string>[]> =>
      (await ask('GET', `/users/${user}/emails`)).body.emails;
    const summary = async () =>
      (await emails()).map(({ kind, to, outcome }) => `${kind} ${to} ${outcome}`).sort();
    expect(await summary()).toEqual([
      'email_change new@example.com waiting',
      'notice ada@example.com waiting',
      'sign_in ada@example.com sent',
      'sign_in ada@example.com waiting',
    ]);
    await t.mails();
    expect(await summary()).not.toContain('email_change new@example.com waiting');
    expect(JSON.stringify(await emails())).not.toMatch(/lk_[a-z]{2}_|token/);
    const { kind } = operatorEndpoints.listUserEmails.response.shape.emails.element.shape;
    const kinds = [...kind.description!.matchAll(/`(\w+)`/g)].map(([, name]) => name);
    expect(kinds.toSorted()).toEqual(Object.keys(templates).toSorted());
  });

  test('a report says what an address was sent, whether it may sign up, and what its account has', async () => {
    const t = await open({ settings: { LATCHKEY_SIGNUP: 'example.com' } });
    const { ask } = await operatorOf(t);
    const report = async (email: string) => (await ask('POST', '/users/report', { email })).body;
    await t.ask('POST', '/magic_link', { json: { email: 'Nobody@example.org' } });
    const none = { user: null, passkeys: [], keys: [], organizations: [] };
    expect(await report('nobody@EXAMPLE.org')).toEqual({
      ...none,
      sign_up_allowed: false,
      emails: [expect.objectContaining({ kind: 'sign_in', to: 'Nobody@example.org', outcome: 'waiting' })],
    });
    expect(await report('nobody@example.com')).toEqual({ ...none, sign_up_allowed: true, emails: [] });
    expect((await ask('POST', '/users/report', { email: 'nobody' })).body.error).toBe('invalid_request');
    const tokens = await t.login();
    await addPasskey(t, tokens, newAuthenticator(t));
    await createdKey(t, tokens);
    expect(await report('ada@example.com')).toMatchObject({
      user: { email: 'ada@example.com', disabled: false },
      sign_up_allowed: true,
      emails: [{ kind: 'notice' }, { kind: 'notice' }, { kind: 'sign_in' }],
      passkeys: [{ name: expect.any(String) }],
      keys: [{ name: 'build' }],
      organizations: [{ role: 'owner', personal: true }],
    });
  });
});
