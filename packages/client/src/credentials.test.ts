// Several logins on one server, side by side.

import { describe, expect, test } from 'bun:test';
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

describe('a login without a chosen name', () => {
  test('replaces the login of the same user, and puts itself in use', async () => {
    const { at, held } = open();
    await at().put(loginOf('ada', 'first'));
    await at().put(loginOf('bea'));
    await at().put(loginOf('ada', 'second'));
    expect(await held()).toEqual({
      current: 'ada@example.com',
      logins: { 'ada@example.com': 'second', 'bea@example.com': 'bea' },
    });
  });

  test('keeps the chosen name of the login that it replaces', async () => {
    const { at, held } = open();
    await at('work').put(loginOf('ada', 'first'));
    await at().put(loginOf('ada', 'second'));
    expect(await held()).toEqual({ current: 'work', logins: { work: 'second' } });
  });

  test('follows a changed address', async () => {
    const { at, held } = open();
    await at().put(loginOf('ada', 'first'));
    const moved = loginOf('ada', 'second');
    await at().put({ ...moved, user: { ...moved.user, email: 'lovelace@example.com' } });
    expect(await held()).toEqual({
      current: 'lovelace@example.com',
      logins: { 'lovelace@example.com': 'second' },
    });
  });

  test("never replaces another user's login that has its address as a name", async () => {
    const { at, held } = open();
    await at('bea@example.com').put(loginOf('ada'));
    await at().put(loginOf('bea', 'first'));
    await at().put(loginOf('bea', 'second'));
    expect(await held()).toEqual({
      current: 'bea@example.com-2',
      logins: { 'bea@example.com': 'ada', 'bea@example.com-2': 'second' },
    });
  });

  test('can have any address', async () => {
    const { at, held } = open();
    for (const id of ['__proto__', 'constructor']) {
      await at().put({ ...loginOf(id), user: { id, email: id } });
      expect((await at(id).read())?.access_token).toBe(`lk_at_${id}`);
    }
    expect((await held()).current).toBe('constructor');
    expect(await at('toString').read()).toBeNull();
  });
});

describe('a login with a chosen name', () => {
  test('replaces the one of that name, and no other of the same user', async () => {
    const { at, held } = open();
    await at('home').put(loginOf('ada', 'first'));
    await at('work').put(loginOf('ada', 'second'));
    await at('work').put(loginOf('bea'));
    expect(await held()).toEqual({ current: 'work', logins: { home: 'first', work: 'bea' } });
  });
});

test('removing the login in use puts no other in use', async () => {
  const { at, held } = open();
  await at().put(loginOf('ada'));
  const bea = loginOf('bea');
  await at().put(bea);
  expect(await at().replace(bea, null)).toBe(true);
  expect(await held()).toEqual({ current: 'bea@example.com', logins: { 'ada@example.com': 'ada' } });
  expect(await at().read()).toBeNull();
});

test('a server whose last login is removed is forgotten', async () => {
  const { storage, at } = open();
  const ada = loginOf('ada');
  await at().put(ada);
  await at().replace(ada, null);
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
