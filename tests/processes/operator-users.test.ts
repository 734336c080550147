// `users show`, which tells why somebody cannot sign in.

import { expect, test } from 'bun:test';
import { request } from '../support/http.ts';
import { addPasskeyAt } from '../support/passkeys.ts';
import { runOperator, startService } from '../support/service.ts';

test('users show prints what an address was sent and has, with an account and without one', async () => {
  const service = await startService();
  await addPasskeyAt(service.url, 'ada@example.com');
  const shown = await runOperator(service.env, 'users', 'show', 'ada@example.com');
  expect(shown.code).toBe(0);
  for (const heading of ['EMAILS', 'SESSIONS', 'PASSKEYS', 'API KEYS', 'ORGANIZATIONS', 'EVENTS'])
    expect(shown.stdout).toContain(`\n${heading}\n`);
  await request(service.url, 'POST', '/magic_link', { json: { email: 'eve@example.com' } });
  const closed = { ...service.env, LATCHKEY_SIGNUP: 'closed' };
  const nobody = await runOperator(closed, 'users', 'show', 'eve@example.com');
  expect(nobody).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(
      /^No account .*do not allow an account.*\(LATCHKEY_SIGNUP\)\.\n\nEMAILS\n.*sign in +eve@example\.com/s,
    ),
    stderr: expect.stringContaining('There is no account with this address.'),
  });
  const json = await runOperator(closed, 'users', 'show', 'eve@example.com', '--json');
  expect(JSON.parse(json.stdout)).toMatchObject({
    user: null,
    sign_up_allowed: false,
    emails: [{ kind: 'sign_in' }],
  });
  const link = await runOperator(closed, 'users', 'sign-in-link', 'eve@example.com', '--create');
  expect(link).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^http:\S+\/magic-link#token=lk_ml_\S+\n$/),
  });
  expect((await runOperator(closed, 'users', 'sign-in-link', 'eve')).code).toBe(1);
});
