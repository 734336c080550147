// Several logins on one server, side by side.

import { expect, test } from 'bun:test';
import { credentialStore, type StoredKey, type StoredLogin, tokenMembers } from './credentials.ts';
import { memoryStorage } from './storage/memory-storage.ts';

const server = 'https://login.example';
const tokens = (name: string) =>
  tokenMembers(
    { access_token: `lk_at_${name}`, refresh_token: `lk_rt_${name}`, expires_in: 60, token_type: 'Bearer' },
    0,
  );

/** A login of this person. The token tells two of them apart. */
const loginOf = (person: string, token = person): StoredLogin => ({
  server,
  user: { id: `usr_${person}`, email: `${person}@example.com` },
  logged_in_at: '2026-01-01T00:00:00.000Z',
  ...tokens(token),
});

/** An empty storage, and what it contains: the login in use and the access token of each. */
function open() {
  const storage = memoryStorage();
  return {
    storage,
    at: (account?: string) => credentialStore(storage, server, account),
    held: async () => {
      const { current, logins } = (await storage.read()).servers[server] ?? { current: null, logins: {} };
      const names = Object.entries(logins).map(([name, { access_token }]) => [name, access_token.slice(6)]);
      return { current, logins: Object.fromEntries(names) };
    },
  };
}

type Put = readonly [login: StoredLogin, account?: string];
const ada = loginOf('ada', 'first');
const renamed = { ...ada.user, email: 'lovelace@example.com' };

test.each<[string, readonly Put[], current: string, logins: Record<string, string>]>([
  [
    'replaces the login of the same user, and puts itself in use',
    [[ada], [loginOf('bea')], [loginOf('ada', 'second')]],
    'ada@example.com',
    { 'ada@example.com': 'second', 'bea@example.com': 'bea' },
  ],
  [
    'keeps the chosen name of the login that it replaces',
    [[ada, 'work'], [loginOf('ada', 'second')]],
    'work',
    { work: 'second' },
  ],
  [
    'follows a changed address',
    [[ada], [{ ...loginOf('ada', 'second'), user: renamed }]],
    'lovelace@example.com',
    { 'lovelace@example.com': 'second' },
  ],
  [
    "never replaces another user's login that has its address as a name",
    [[ada, 'bea@example.com'], [loginOf('bea', 'first')], [loginOf('bea', 'second')]],
    'bea@example.com-2',
    { 'bea@example.com': 'first', 'bea@example.com-2': 'second' },
  ],
  [
    'with a chosen name replaces the one of that name, and no other of the same user',
    [
      [ada, 'home'],
      [loginOf('ada', 'second'), 'work'],
      [loginOf('bea'), 'work'],
    ],
    'work',
    { home: 'first', work: 'bea' },
  ],
])('a login %s', async (_, puts, current, logins) => {
  const { at, held } = open();
  for (const [login, account] of puts) await at(account).put(login);
  expect(await held()).toEqual({ current, logins });
});

test('logins that are stored at the same time are all kept', async () => {
  const { at, held } = open();
  await Promise.all(['ada', 'bea', 'cia'].map((person) => at().put(loginOf(person))));
  expect(Object.keys((await held()).logins)).toHaveLength(3);
});

test('a login can have any address', async () => {
  const { at, held } = open();
  for (const id of ['__proto__', 'constructor']) {
    await at().put({ ...loginOf(id), user: { id, email: id } });
    expect((await at(id).read())?.access_token).toBe(`lk_at_${id}`);
  }
  expect((await held()).current).toBe('constructor');
  expect(await at('toString').read()).toBeNull();
});

test('removing the login in use puts no other in use, and a server without logins is forgotten', async () => {
  const { storage, at, held } = open();
  const bea = loginOf('bea');
  for (const login of [ada, bea]) await at().put(login);
  expect(await at().replace(bea, null)).toBe(true);
  expect(await held()).toEqual({ current: 'bea@example.com', logins: { 'ada@example.com': 'first' } });
  expect(await at().read()).toBeNull();
  await at('ada@example.com').replace(ada, null);
  expect((await storage.read()).servers).toEqual({});
});

test('a key and a session are never taken for each other by a compare and set', async () => {
  const { at, held } = open();
  const session = loginOf('ada');
  const { user, logged_in_at } = session;
  const key: StoredKey = { kind: 'key', server, user, logged_in_at, access_token: session.access_token };
  await at().put(key);
  expect(await at().replace(session, null)).toBe(false);
  expect(await at().replace({ ...key, access_token: 'lk_ak_other' }, null)).toBe(false);
  expect(await at().replace(key, session)).toBe(true);
  expect(await at().replace(key, null)).toBe(false);
  expect(await held()).toEqual({ current: 'ada@example.com', logins: { 'ada@example.com': 'ada' } });
});
