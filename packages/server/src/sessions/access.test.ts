// What a refusal of a good credential says. Bad ones: tests/invariants/no-statement.test.ts; who may call what: access.test.ts there.

import { expect, test } from 'bun:test';
import { newAddress, outcome } from '#support/account.ts';
import { openApp } from '#support/app.ts';
import { shared } from '#support/shared.ts';

const app = shared(() => openApp('sqlite', { settings: { LATCHKEY_RECENT_LOGIN_TTL: '60' } }));

test('an access token is read only from the header, with its scheme in any letter case', async () => {
  const { access_token } = await app.login(newAddress());
  for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
    const headers = { Authorization: `${scheme} ${access_token}` };
    expect(outcome(await app.ask('GET', '/me', { headers }))).toBe('200');
  }
  const inQuery = await app.ask('GET', `/me?access_token=${access_token}`);
  const inBody = await app.ask('PATCH', '/me', { json: { access_token } });
  for (const answer of [inQuery, inBody]) expect(outcome(answer)).toBe('401 invalid_token');
});

test('the refusal of a token with too narrow a scope names the scope that is needed', async () => {
  const narrow = { scope: 'offline_access' };
  const { access_token: token } = await app.deviceLogin(await app.login(newAddress()), narrow);
  const challenge = async (path: string) =>
    (await app.ask('GET', path, { token })).headers.get('WWW-Authenticate');
  expect(await challenge('/organizations')).toMatch(
    /^Bearer .*error="insufficient_scope".*scope="organizations"$/,
  );
  expect(await challenge('/sessions')).toEndWith('scope="*"');
});

test('a sign-in is recent for as long as the setting says, and the challenge says how long', async () => {
  const { access_token: token } = await app.login(newAddress());
  app.pass(59);
  const approve = async () => {
    const json = { user_code: (await app.ask('POST', '/device')).body.user_code };
    return app.ask('POST', '/device/approve', { json, token });
  };
  expect(outcome(await approve())).toBe('204');
  app.pass(2);
  const late = await approve();
  expect(outcome(late)).toBe('401 insufficient_user_authentication');
  expect(late.headers.get('WWW-Authenticate')).toMatch(
    /^Bearer (.+, )?error="insufficient_user_authentication".*, max_age="60"/,
  );
});
