import { expect, test } from 'bun:test';
import {
  addPasskey,
  disown,
  isLive,
  mailsTo,
  newAuthenticator,
  outcome,
  passkeyLogin,
  sessionCookieIn,
  signInByMail,
  subjects,
} from '../../../../../tests/support/account.ts';
import { onBothDatabases, type Tokens } from '../../../../../tests/support/app.ts';
import { descentWithPlaces, type PlacedSession, unnoticedSessions } from './places.ts';

let time = 0;
const at = (place: string, id: string, more: Partial<PlacedSession> = {}): PlacedSession => ({
  id,
  kind: 'browser',
  ip_address: place,
  user_agent: 'Browser/1.0',
  created_at: time++,
  distrusted_as: null,
  parent_session_id: null,
  passkey_added_by: null,
  email_change_id: null,
  ...more,
});
const home = '192.0.2.1';
const strange = '198.51.100.7';
const ids = (
  sessions: PlacedSession[],
  disowned: string[],
  kind: 'new_browser' | 'passkey_added' = 'new_browser',
) => unnoticedSessions(new Set(disowned), sessions, kind);

test('later sign-ins from a place known only through disowned sessions are found', () => {
  const sessions = [
    at(home, 'own'),
    at(strange, 'a1'),
    at('198.51.100.99', 'a2'),
    at(strange, 'a3'),
    at(home, 'own2'),
  ];
  expect(ids(sessions, ['a1'])).toEqual(['a2', 'a3']);
});

test('sessions from a place the owner used before, from another browser and of a device are not disowned', () => {
  expect(ids([at(home, 'own'), at(home, 'a1'), at(home, 'own2')], ['a1'])).toEqual([]);
  expect(
    ids([at(home, 'own'), at(strange, 'a1'), at(strange, 'b', { user_agent: 'Other' })], ['a1']),
  ).toEqual([]);
  expect(ids([at(home, 'own'), at(strange, 'a1'), at(strange, 'd', { kind: 'device' })], ['a1'])).toEqual([]);
});

test('the place of an account’s first sign-in counts as the owner’s, unless its notice is disowned', () => {
  expect(ids([at(home, 'own'), at(home, 'own2')], ['own'], 'passkey_added')).toEqual([]);
  expect(ids([at(strange, 'a1'), at(strange, 'a2')], ['a1'])).toEqual(['a2']);
});

test('disowning covers the sessions that followed an unreported sign-in, except after a copied token', () => {
  const sessions = [
    at(home, 'own'),
    at(strange, 'a1'),
    at(strange, 'a2'),
    at('203.0.113.5', 'b1', { passkey_added_by: 'a2' }),
    at('203.0.113.5', 'b2'),
  ];
  const found = (kind: 'new_browser' | 'theft_stopped') => [
    ...descentWithPlaces('a1', sessions, [], kind).sessionIds,
  ];
  expect(found('new_browser').sort()).toEqual(['a1', 'a2', 'b1', 'b2']);
  expect(found('theft_stopped')).toEqual(['a1']);
});

const ada = 'ada@example.com';
const elsewhere = {
  peer: '198.51.100.7',
  headers: { 'User-Agent': 'Thief/1.0', 'Sec-Fetch-Site': 'same-origin' },
};

onBothDatabases('disowning a session', (open) => {
  test('disowning a session also ends a later unreported session from the same place and removes its passkey', async () => {
    const app = await open();
    const own = await app.login(ada);
    const first: Tokens = (await signInByMail(app, ada, elsewhere)).body;
    app.pass(1);
    const second: Tokens = (await signInByMail(app, ada, elsewhere)).body;
    expect(await mailsTo(app, ada, subjects.newBrowser)).toHaveLength(1);
    const authenticator = newAuthenticator(app);
    await addPasskey(app, second, authenticator, 'theirs');
    const { body } = await disown(app, ada, subjects.newBrowser);
    expect(body).toMatchObject({ sessions_ended: 2, passkeys_removed: ['theirs'] });
    for (const session of [first, second]) expect(await isLive(app, session)).toBe(false);
    expect(await isLive(app, own)).toBe(true);
    expect(outcome(await passkeyLogin(app, authenticator))).toBe('400 unknown_credential');
    await app.close();
  });

  test('disowning a session also ends one that signed in with the cookie of an already replaced session', async () => {
    const app = await open();
    await app.login(ada);
    const withCookie = (cookie: string, peer: string) =>
      signInByMail(app, ada, { ...elsewhere, peer, ...(cookie === '' ? {} : { cookie }), session: 'cookie' });
    const b = sessionCookieIn(await withCookie('', '198.51.100.7'));
    const c = sessionCookieIn(await withCookie(b, '198.51.100.7'));
    const d = sessionCookieIn(await withCookie(b, '203.0.113.9'));
    const status = async (cookie: string) =>
      (await app.ask('GET', '/me', { cookie, headers: { 'Sec-Fetch-Site': 'same-origin' } })).status;
    expect([await status(b), await status(c), await status(d)]).toEqual([401, 200, 200]);
    const [, first] = await mailsTo(app, ada, subjects.newBrowser);
    const token = /#token=(\S+)/.exec(first!.text)![1];
    expect((await app.ask('POST', '/notices/disown', { json: { token } })).body.sessions_ended).toBe(2);
    expect([await status(c), await status(d)]).toEqual([401, 401]);
    await app.close();
  });
});
