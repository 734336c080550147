import { expect, test } from 'bun:test';
import { onBothDatabases } from '../../../tests/support/app.ts';
import { codeOf, loggedIn, storedSession } from '../../../tests/support/client.ts';
import { createdKey } from '../../../tests/support/keys.ts';
import { exchangeToken } from './token-exchange.ts';
import { openTokenSession } from './token-session.ts';

onBothDatabases('an exchanged token', (open) => {
  test('allows only its scope, expires when asked to, is not stored, and ends with the login', async () => {
    const service = await open();
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
    const other = await exchangeToken({ api, session, scope: 'profile' });
    await session.logout();
    expect(await works(other.access_token)).toBe(false);
  });

  test('is exchanged for a renewed one where the service does not accept the stored token', async () => {
    const service = await open();
    const { store, api, session, works } = await loggedIn(service);
    await store.put({ ...(await storedSession(store)), access_token: 'lk_at_unknown' });
    const { access_token } = await exchangeToken({ api, session, scope: 'profile' });
    expect(await works(access_token)).toBe(true);
  });

  test('of a login or key that has ended is refused as everything else is', async () => {
    const service = await open();
    const { browser, store, api, session } = await loggedIn(service);
    const { key, id } = await createdKey(service, browser, { scope: 'profile' });
    const ofKey = openTokenSession({ api, token: key });
    expect(await codeOf(exchangeToken({ api, session: ofKey, scope: 'email' }))).toBe('invalid_scope');
    await service.ask('DELETE', `/keys/${id}`, { token: browser.access_token });
    expect(await codeOf(exchangeToken({ api, session: ofKey, scope: 'profile' }))).toBe('invalid_token');
    const { access_token: token } = await storedSession(store);
    await service.ask('DELETE', '/logout?scope=session', { token });
    expect(await codeOf(exchangeToken({ api, session, scope: 'profile' }))).toBe('login_over');
  });

  test('that is asked for wrongly is an error of the request, and ends nothing', async () => {
    const service = await open();
    const { store, api, session, wire } = await loggedIn(service);
    const wrong = exchangeToken({ api, session, scope: 'profile', expiresInSeconds: 59 });
    expect(await codeOf(wrong)).toBe('invalid_request');
    wire.replace = () => Response.json({ expires_in: 60 }, { headers: { 'X-Request-Id': 'one' } });
    expect(await codeOf(exchangeToken({ api, session, scope: 'profile' }))).toBe('not_latchkey');
    expect(await store.read()).not.toBeNull();
  });
});
