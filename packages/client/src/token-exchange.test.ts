import { expect, test } from 'bun:test';
import { openApp } from '#support/app.ts';
import { codeOf, loggedIn, storedSession } from '#support/client.ts';
import { createdKey } from '#support/keys.ts';
import { exchangeToken } from './token-exchange.ts';
import { openTokenSession } from './token-session.ts';

test('an exchanged token allows only its scope, expires when asked to, is not stored, and ends with the login', async () => {
  const service = await openApp('sqlite');
  const { store, api, session, works } = await loggedIn(service);
  const before = await storedSession(store);
  const issued = await exchangeToken({ api, session, scope: 'profile', expiresInSeconds: 60 });
  expect(issued).toMatchObject({ scope: 'profile', expires_in: 60, token_type: 'Bearer' });
  expect(issued).not.toHaveProperty('refresh_token');
  expect(await storedSession(store)).toEqual(before);
  const narrow = openTokenSession({ api, token: issued.access_token });
  expect(await narrow.call('getProfile')).not.toHaveProperty('email');
  expect(await codeOf(narrow.call('listSessions'))).toBe('insufficient_scope');
  service.pass(61);
  expect(await works(issued.access_token)).toBe(false);
  // The service does not accept the stored token, so it is renewed first.
  await store.put({ ...before, access_token: 'lk_at_unknown' });
  const other = await exchangeToken({ api, session, scope: 'profile' });
  expect(await works(other.access_token)).toBe(true);
  await session.logout();
  expect(await works(other.access_token)).toBe(false);
});

test('what is asked for wrongly, or of a login or key that has ended, is refused as everything else is', async () => {
  const service = await openApp('sqlite');
  const { browser, store, api, session, wire } = await loggedIn(service);
  const { key, id } = await createdKey(service, browser, { scope: 'profile' });
  const ofKey = openTokenSession({ api, token: key });
  const exchange = (scope: string, from = session, expiresInSeconds?: number) =>
    codeOf(exchangeToken({ api, session: from, scope, expiresInSeconds }));
  expect(await exchange('profile', session, 59)).toBe('invalid_request');
  wire.replace = () => Response.json({ expires_in: 60 }, { headers: { 'X-Request-Id': 'one' } });
  expect(await exchange('profile')).toBe('not_latchkey');
  wire.replace = () => undefined;
  expect(await store.read()).not.toBeNull();
  expect(await exchange('email', ofKey)).toBe('invalid_scope');
  await service.ask('DELETE', `/keys/${id}`, { token: browser.access_token });
  expect(await exchange('profile', ofKey)).toBe('invalid_token');
  const { access_token: token } = await storedSession(store);
  await service.ask('DELETE', '/logout?scope=session', { token });
  expect(await exchange('profile')).toBe('login_over');
});
