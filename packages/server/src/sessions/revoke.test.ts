// How a session or key ends itself, or everything. That nothing works afterwards, on any node: tests/invariants/properties.test.ts.

import { expect, test } from 'bun:test';
import { cookieByMail, newAddress, outcome, sameOrigin } from '#support/account.ts';
import { type Answer, type Ask, openApp } from '#support/app.ts';
import { createdKey } from '#support/keys.ts';
import { loggedEvents } from '#support/security-log.ts';
import { shared } from '#support/shared.ts';

const app = shared(() => openApp('sqlite'));
const cleared = 'latchkey_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax';
const cookieIn = ({ headers }: Answer) => headers.get('Set-Cookie');
const me = async (by: Ask) => outcome(await app.ask('GET', '/me', by));

/** An account with a session or key of each kind, and one of another account. */
async function scene(scope = '*') {
  const email = newAddress();
  const login = await app.login(email);
  const { id: keyId, key } = await createdKey(app, login, { scope });
  const { access_token: device } = await app.deviceLogin(login);
  const byCookie = { cookie: await cookieByMail(app, email), headers: sameOrigin };
  const { access_token: stranger } = await app.login(newAddress());
  const kinds = { cookie: byCookie, device: { token: device }, key: { token: key } };
  return { login, kinds, keyId, others: [{ token: login.access_token }, { token: stranger }] as const };
}

type Scene = Awaited<ReturnType<typeof scene>>;

/** The end of a key is an event of its own. */
async function requireKeyEvent({ login, keyId }: Scene, reason: string) {
  const detail = { key_id: keyId, name: 'build', reason };
  expect(await loggedEvents(app, login, 'key_removed')).toMatchObject([{ session_id: keyId, detail }]);
  expect(await loggedEvents(app, login, 'session_revoked')).toEqual([]);
}

/** Requires that a session or key ended, and with it all others of its account, or none. */
async function requireEnd({ kinds, others: [other, stranger] }: Scene, by: Ask | undefined, isAll = false) {
  for (const one of [...Object.values(kinds), other])
    expect(await me(one)).toBe(isAll || one === by ? '401 invalid_token' : '200');
  expect(await me(stranger)).toBe('200');
}

test.each<[what: string, query: string, json: object | undefined, ends: 'all' | 'own' | 'nothing']>([
  ['no body', '', undefined, 'all'],
  ['an empty object', '', {}, 'all'],
  ['unknown members', '', { everywhere: false, scopes: 'session' }, 'all'],
  ['scope=session in the body', '', { scope: 'session' }, 'own'],
  ['scope=session in the query', '?scope=session', undefined, 'own'],
  ['scope=session in both', '?scope=session', { scope: 'session' }, 'own'],
  ['scope=session in the query and an empty body', '?scope=session', {}, 'own'],
  ...['all', '', 'Session'].map((scope) => [`scope="${scope}"`, '', { scope }, 'nothing'] as never),
  ['scope=all in the query', '?scope=all', undefined, 'nothing'],
  ['an empty scope in the query', '?scope=', undefined, 'nothing'],
  ['two scopes in the query', '?scope=session&scope=session', undefined, 'nothing'],
  ['scope=session in the body, another in the query', '?scope=all', { scope: 'session' }, 'nothing'],
  ['scope=session in the query, another in the body', '?scope=session', { scope: 'all' }, 'nothing'],
])(
  'with %s, a session of any kind or a key ends what is asked for, and the cookie is cleared if it ends',
  async (_, query, json, ends) => {
    for (const [method, path] of [
      ['POST', '/revoke'],
      ['DELETE', '/logout'],
    ] as const)
      for (const kind of ['cookie', 'device', 'key'] as const) {
        const account = await scene(ends === 'all' ? '*' : 'profile');
        const by = account.kinds[kind];
        const answer = await app.ask(method, path + query, { ...by, ...(json && { json }) });
        const expected = ends === 'nothing' ? '400 invalid_request' : '204';
        const cookie = kind === 'cookie' && ends !== 'nothing' ? cleared : null;
        expect([outcome(answer), cookieIn(answer)]).toEqual([expected, cookie]);
        await requireEnd(account, ends === 'nothing' ? undefined : by, ends === 'all');
        if (kind === 'key' && ends === 'own') await requireKeyEvent(account, 'logout');
      }
  },
);

test('a browser ends another session without losing its cookie, and its own by its id', async () => {
  const account = await scene();
  const { cookie: by, device } = account.kinds;
  const idOf = async (of: Ask) => {
    const { sessions } = (await app.ask('GET', '/sessions', of)).body;
    return sessions.find(({ current }: { current: boolean }) => current).id;
  };
  const [own, other] = [await idOf(by), await idOf(device)];
  expect(cookieIn(await app.ask('DELETE', `/sessions/${other}`, by))).toBeNull();
  await requireEnd(account, device);
  expect(cookieIn(await app.ask('DELETE', `/sessions/${own}`, by))).toBe(cleared);
  expect(await me(by)).toBe('401 invalid_token');
});

test('a token in JSON is refused with a word about the form', async () => {
  const { access_token: token } = await app.login(newAddress());
  for (const [ask, expected] of [
    [{}, '401 invalid_token'],
    [{ token }, '400 invalid_request'],
  ] as const) {
    const answer = await app.ask('POST', '/revoke', { json: { token }, ...ask });
    expect(outcome(answer)).toBe(expected);
    expect(answer.body.error_description).toContain('application/x-www-form-urlencoded');
  }
  expect(await me({ token })).toBe('200');
});

test.each<[reason: string, (token: string, id: string) => Parameters<typeof app.ask>]>([
  ['logout', (token, id) => ['DELETE', `/sessions/${id}`, { token }]],
  ['token', (token) => ['POST', '/revoke', { form: { token: ` ${token}\r\n` } }]],
])(
  'a key ends itself by its id, and by the form of RFC 7009 with white space around it: %s',
  async (reason, end) => {
    const account = await scene('profile');
    const { key } = account.kinds;
    expect(outcome(await app.ask(...end(key.token, account.keyId)))).toMatch(/^20[04]$/);
    await requireEnd(account, key);
    await requireKeyEvent(account, reason);
  },
);
