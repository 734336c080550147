// A sign-in link that an operator issues, for a person whom emails do not reach.

import { expect, test } from 'bun:test';
import { disown, outcome } from '../../../../../tests/support/account.ts';
import { onBothDatabases, type TestApp } from '../../../../../tests/support/app.ts';
import { issueSignInLink } from './magic-links.ts';

async function issued(app: TestApp, email: string, create = false): Promise<string> {
  let link = '';
  await issueSignInLink(app.ctx, { email, create }, async (shown) => {
    link = shown;
  });
  expect(link).toStartWith(`${app.ctx.config.baseUrl}/magic-link#token=lk_ml_`);
  return link.split('#token=')[1]!;
}

const rows = (app: TestApp, table: string) => app.ctx.db.read.run<object>(`SELECT * FROM ${table}`, []);

onBothDatabases('an issued sign-in link', (open) => {
  test('signs in once, is in the security log, and its notice undoes everything since', async () => {
    const app = await open();
    const verify = (token: string) => app.ask('POST', '/magic_link/verify', { json: { token } });
    const before = await app.login();
    const token = await issued(app, 'ADA@example.com');
    const answer = await verify(token);
    expect([outcome(answer), outcome(await verify(token))]).toEqual(['200', '400 invalid_grant']);
    const { access_token } = answer.body;
    const { events } = (await app.ask('GET', '/events', { token: access_token })).body;
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'sign_in_link_issued', detail: { by: 'operator' } }),
    );
    const unused = await issued(app, 'ada@example.com');
    const undone = await disown(app, 'ada@example.com', 'A sign-in link to your Latchkey account was issued');
    expect([outcome(undone), undone.body.kind]).toEqual(['200', 'sign_in_link_issued']);
    expect(outcome(await verify(unused))).toBe('400 invalid_grant');
    expect(outcome(await app.ask('GET', '/me', { token: before.access_token }))).toBe('200');
  });

  test('expires, and is made for an address without an account only on request, also where sign-up is closed', async () => {
    const app = await open({ settings: { LATCHKEY_SIGNUP: 'closed', LATCHKEY_MAGIC_LINK_TTL: '60' } });
    const verify = (token: string) => app.ask('POST', '/magic_link/verify', { json: { token } });
    await expect(issued(app, 'eve@example.com')).rejects.toThrow('There is no account with this address.');
    const expired = await issued(app, 'eve@example.com', true);
    app.pass(60);
    expect(outcome(await verify(expired))).toBe('400 invalid_grant');
    // The account is there now, and used.
    expect(outcome(await verify(await issued(app, 'eve@example.com', true)))).toBe('200');
    expect(await rows(app, 'users')).toHaveLength(1);
  });

  test('does not come into being, nor does its account, when it cannot be shown', async () => {
    const app = await open();
    const fail = () => Promise.reject(new Error('closed'));
    const made = issueSignInLink(app.ctx, { email: 'eve@example.com', create: true }, fail);
    await expect(made).rejects.toThrow('closed');
    for (const table of ['users', 'magic_links', 'outbox']) expect(await rows(app, table)).toEqual([]);
  });
});
