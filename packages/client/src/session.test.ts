import { expect, test } from 'bun:test';
import { openApp, type TestApp } from '#support/app.ts';
import { apiOf, clockOf, codeOf, loggedIn, loginOf, storedSession } from '#support/client.ts';
import { refuses, responds } from '#support/responses.ts';
import { fresh } from '#support/shared.ts';
import { setDisabled } from '../../server/src/identity/account/account.ts';
import { createApi } from './api.ts';
import { credentialStore, expireAccessToken, type Storage, tokenMembers } from './credentials.ts';
import { LatchkeyError } from './errors.ts';
import { earlyEffort } from './refresh.ts';
import { freshness, openSession } from './session.ts';
import { memoryStorage } from './storage/memory-storage.ts';

const fourHours = 14_400;

const service = fresh(() => openApp('sqlite'));

/** A stored login whose access token has expired. */
async function expired(storage?: Storage) {
  const login = await loggedIn(service, storage);
  service.pass(fourHours);
  return login;
}

const outcomesOf = (route: string, of: TestApp = service): string[] =>
  of.logs
    .map((line) => JSON.parse(line))
    .filter((line) => line.route === `/api/v1/auth/${route}`)
    .map(({ detail, outcome }) => detail ?? outcome);

test('a refused refresh is repeated with the key that another process has stored for the same token', async () => {
  const { open: session, wire, store, works } = await loggedIn(service);
  const before = await storedSession(store);
  service.pass(fourHours);
  // Without a working lock, two processes may store the same token with different keys.
  wire.before = async () => {
    wire.before = async () => {};
    const other = { ...before, idempotency_key: 'stored last' };
    await store.put(other);
    await service.ask('POST', '/refresh', {
      json: { refresh_token: before.refresh_token },
      headers: { 'Idempotency-Key': other.idempotency_key },
    });
  };
  expect(await works(await session().accessToken())).toBe(true);
  expect(wire.sent.map((request) => request.headers.get('Idempotency-Key'))).toEqual([
    before.idempotency_key,
    'stored last',
  ]);
  expect(outcomesOf('refresh')).toEqual(['rotated', 'race', 'retry']);
});

test('a repeated response whose token has expired is followed by another refresh', async () => {
  const own = await openApp('sqlite', { settings: { LATCHKEY_ACCESS_TOKEN_TTL: '60' } });
  const { open: session, wire, store, works } = await loggedIn(own);
  const before = await storedSession(store);
  wire.loseNext(4);
  expect(await codeOf(session().renew(before.access_token))).toBe('unreachable');
  own.pass(120);
  expect(await works(await session().accessToken())).toBe(true);
  expect(outcomesOf('refresh', own).slice(-2)).toEqual(['retry', 'rotated']);
});

test('a login that the service refuses for good is removed', async () => {
  const { open: session, browser, store } = await loggedIn(service);
  await service.ask('POST', '/revoke', { token: browser.access_token });
  service.pass(fourHours);
  expect(await codeOf(session().accessToken())).toBe('login_over');
  expect(await store.read()).toBeNull();
  expect(await codeOf(session().accessToken())).toBe('not_logged_in');
});

test('a disabled account is reported as such, and its stored login is kept until logout', async () => {
  const { open: session, store } = await loggedIn(service);
  await setDisabled(service.ctx, 'ada@example.com', true);
  service.pass(fourHours);
  expect(await codeOf(session().accessToken())).toBe('account_disabled');
  expect(await store.read()).not.toBeNull();
  await session().logout();
  expect(await store.read()).toBeNull();
});

test('a rejected token is refreshed once, and the call repeated once', async () => {
  const { open: session, wire, store } = await loggedIn(service);
  const broken = { ...(await storedSession(store)), access_token: 'lk_at_broken' };
  await store.put(broken);
  const one = session();
  const profiles = await Promise.all(Array.from({ length: 10 }, () => one.call('getProfile')));
  expect(new Set(profiles.map(({ email }) => email))).toEqual(new Set(['ada@example.com']));
  expect(outcomesOf('refresh')).toEqual(['rotated']);
  expect(outcomesOf('me')).toHaveLength(20);

  // If every access token is rejected, the call is sent twice and no more.
  wire.sent.length = 0;
  wire.replace = (url) => (url.endsWith('/me') ? refuses('invalid_token', 401) : undefined);
  expect(await codeOf(one.call('getProfile'))).toBe('invalid_token');
  expect(wire.sent.map(({ url }) => url.replace(/.*auth/, ''))).toEqual(['/me', '/refresh', '/me']);
  expect(await store.read()).not.toBeNull();
});

test('fetch sends the token only to the service, and repeats the request once after a 401', async () => {
  const { open: session, wire, store } = await loggedIn(service);
  const one = session();
  expect((await one.fetch('/api/v1/auth/me')).status).toBe(200);
  await store.put({ ...(await storedSession(store)), access_token: 'lk_at_broken' });
  const patched = await one.fetch(`${one.server}/api/v1/auth/me`, {
    method: 'PATCH',
    headers: { 'Content-Type': 'application/json' },
    body: '{"name":"Ada L"}',
  });
  expect((await patched.json()).name).toBe('Ada L');
  expect(outcomesOf('refresh')).toEqual(['rotated']);

  wire.sent.length = 0;
  wire.replace = () => new Response('', { status: 401 });
  await one.fetch('https://elsewhere.example/', { headers: { 'X-Own': '1' } });
  expect(wire.sent.map(({ headers }) => [...headers.keys()])).toEqual([['x-own']]);
  const { promise: silence } = Promise.withResolvers<Response>();
  const hanging = openSession({
    api: apiOf(service, () => silence),
    store,
    clock: clockOf(service),
    fetchTimeoutMs: 20,
  });
  expect(await codeOf(hanging.fetch('/'))).toBe('timeout');
  const stream = new Blob(['x']).stream();
  expect((await one.fetch('/', { method: 'POST', body: stream })).status).toBe(401);
  expect(wire.sent).toHaveLength(2);
});

test('logout ends this session or all of them, and removes the stored login only once the service has confirmed', async () => {
  const { open: session, wire, store, browser } = await loggedIn(service);
  wire.replace = () => new Response('', { status: 502 });
  expect(await codeOf(session().logout())).toBe('temporarily_unavailable');
  wire.replace = () => new Response(null, { status: 204 });
  expect(await codeOf(session().logout())).toBe('not_latchkey');
  expect(await store.read()).not.toBeNull();
  wire.replace = () => undefined;
  // The response is lost; the second time, the service no longer knows the session.
  wire.loseNext(1);
  expect(await codeOf(session().logout())).toBe('unreachable');
  await session().logout();
  expect(await store.read()).toBeNull();
  expect(await codeOf(session().logout())).toBe('not_logged_in');
  expect((await service.ask('GET', '/me', { token: browser.access_token })).status).toBe(200);

  await store.put(loginOf(session().server, await service.deviceLogin(browser), service.ctx.clock()));
  await session().logout({ everywhere: true });
  expect(await store.read()).toBeNull();
  expect((await service.ask('GET', '/me', { token: browser.access_token })).status).toBe(401);
});

test('a token is due when 300 s or a tenth of its lifetime is left, whichever is less', () => {
  const tokens = { access_token: 'a', refresh_token: 'r', token_type: 'Bearer' as const };
  const freshnessAfter = (life: number, ms: number, startedAt?: number) => {
    const login = loginOf('https://login.example', { ...tokens, expires_in: life }, 0);
    const started = startedAt === undefined ? {} : { refresh_started_at: startedAt };
    return freshness({ ...login, ...started }, ms);
  };
  expect(freshnessAfter(14_400, 14_100_000)).toBe('fresh');
  expect(freshnessAfter(14_400, 14_100_001)).toBe('due');
  expect(freshnessAfter(60, 54_000)).toBe('fresh');
  expect(freshnessAfter(60, 54_001)).toBe('due');
  expect(freshnessAfter(60, 60_000)).toBe('expired');
  // The clock was set back by the tolerance, and by more.
  expect(freshnessAfter(14_400, -60_000)).toBe('fresh');
  expect(freshnessAfter(14_400, -60_001)).toBe('due');
  // A refresh in progress, an unfinished one, and one from the future.
  expect(freshnessAfter(14_400, 29_999, 0)).toBe('fresh');
  expect(freshnessAfter(14_400, 30_000, 0)).toBe('due');
  expect(freshnessAfter(14_400, 0, 1)).toBe('due');
  expect(freshnessAfter(60, 60_000, 59_999)).toBe('expired');
});

/** A login whose service has this time, on a machine with this clock. A refresh brings `lk_at_2`. */
async function clocks({ isNoted = true, storage = memoryStorage() } = {}) {
  const lifetimeSeconds = fourHours;
  const time = { service: Date.UTC(2026, 0, 1), machine: Date.UTC(2026, 0, 1) };
  const expires = time.service + lifetimeSeconds * 1000;
  const clock = { now: () => time.machine, sleep: async () => {} };
  const fetch = async (url: string) => {
    const headers = { Date: new Date(time.service).toUTCString() };
    const tokens = { access_token: 'lk_at_2', refresh_token: 'lk_rt_2', expires_in: lifetimeSeconds };
    if (url.endsWith('/me') && time.service > expires) return refuses('invalid_token', 401, headers);
    return responds(url.endsWith('/refresh') ? tokens : { id: 'usr_1' }, 200, headers);
  };
  const api = createApi({ server: 'https://login.example', fetch });
  const store = credentialStore(storage, api.server);
  const tokens = { access_token: 'lk_at_1', refresh_token: 'lk_rt_1', expires_in: lifetimeSeconds } as const;
  const user = { id: 'usr_1', email: 'ada@example.com' };
  const logged_in_at = '2026-01-01T00:00:00.000Z';
  const members = tokenMembers(
    { ...tokens, token_type: 'Bearer' },
    time.machine,
    isNoted ? time.service : undefined,
  );
  await store.put({ server: api.server, user, logged_in_at, ...members });
  return { time, store, session: openSession({ api, store, clock }) };
}

test.each([true, false])(
  'the time in a response corrects a clock that has stood still or was set (time stored with the login: %j)',
  async (isNoted) => {
    const { time, store, session } = await clocks({ isNoted });
    expect(await session.accessToken()).toBe('lk_at_1');
    time.service += (fourHours - 100) * 1000;
    expect(await session.accessToken()).toBe('lk_at_1');
    await session.call('getProfile');
    expect(await session.accessToken()).toBe('lk_at_2');
    // Now the machine is set right, and the token is as valid as it was.
    time.machine = time.service;
    await session.call('getProfile');
    expect(freshness(await storedSession(store), time.machine)).toBe('fresh');
    const { access_token_expires_at } = await storedSession(store);
    expect(access_token_expires_at).toBe(time.service + fourHours * 1000);
  },
);

test('a clock that is always wrong by the same amount changes nothing, and small corrections are not stored', async () => {
  const { time, store, session } = await clocks();
  const stored = await store.read();
  for (const [service, machine] of [
    [3_600, 3_600],
    [59, 0],
  ] as const) {
    time.service += service * 1000;
    time.machine += machine * 1000;
    await session.call('getProfile');
    expect(await store.read()).toEqual(stored);
  }
});

test('a token that a service refuses is replaced by the next one, and no other token is', async () => {
  const { store, session } = await clocks();
  for (const other of ['', 'lk_at_2', 'lk_rt_1', 'lk_at_1 '])
    expect(await expireAccessToken(store, other)).toBe(false);
  expect(await session.accessToken()).toBe('lk_at_1');
  expect(await expireAccessToken(store, 'lk_at_1')).toBe(true);
  expect(await session.accessToken()).toBe('lk_at_2');
  expect(await expireAccessToken(store, 'lk_at_1')).toBe(false);
});

// Failures that must never remove a stored login: networks, busy servers, other servers, failing stores, aborts.

const tokens = { access_token: 'lk_at_a', refresh_token: 'lk_rt_a', token_type: 'Bearer', expires_in: 60 };

const notRefusals: Record<string, () => Response> = {
  'bad gateway': () => new Response('<html>', { status: 502 }),
  'draining service': () => refuses('temporarily_unavailable', 503, { 'Retry-After': '1' }),
  'rate limit with a long wait': () => new Response('', { status: 429, headers: { 'Retry-After': '600' } }),
  'captive portal': () => new Response('<html>'),
  'friendly 204': () => new Response(null, { status: 204 }),
  'redirect to another host': () => Response.redirect('https://evil.example/', 307),
  "another OAuth server's invalid_grant": () => Response.json({ error: 'invalid_grant' }, { status: 400 }),
  'answer without tokens': () => responds({ ok: true }),
  'token with an absurd lifetime': () => responds({ ...tokens, expires_in: 1e306 }),
  'token that a header cannot carry': () => responds({ ...tokens, access_token: 'lk_at_a\r\nb' }),
  'not found': () => new Response('', { status: 404 }),
  'lost network': () => {
    throw new TypeError('network');
  },
};

test('a stored login survives every response but a refusal by its own service, and works afterwards', async () => {
  const { store, wire, session } = await expired();
  const before = await store.read();
  for (const [name, respond] of Object.entries(notRefusals)) {
    wire.replace = respond;
    const error = await session.accessToken().catch((thrown: unknown) => thrown);
    expect([name, error]).toEqual([name, expect.any(LatchkeyError)]);
    expect<unknown>(await store.read()).toEqual({ ...before, refresh_started_at: expect.any(Number) });
  }
  expect(wire.sent.some(({ url }) => url.includes('evil'))).toBe(false);
  wire.replace = () => undefined;
  expect(await session.accessToken()).toStartWith('lk_at_');
});

test('no refresh is sent if the store cannot be written, one that cannot be stored is repeated later, and a session that ended has ended', async () => {
  const storage = memoryStorage();
  let broken = false;
  const failing: Storage = {
    ...storage,
    write: async (document) => {
      if (broken) throw new LatchkeyError('store_failed', 'No space left on device.');
      await storage.write(document);
    },
  };
  const { wire, session, store } = await expired(failing);
  broken = true;
  expect(await codeOf(session.accessToken())).toBe('store_failed');
  expect(wire.sent).toEqual([]);

  // The store breaks after the refresh: the new tokens are not used, and the service repeats them later.
  broken = false;
  wire.before = async () => {
    broken = true;
  };
  expect(await codeOf(session.accessToken())).toBe('store_failed');
  broken = false;
  wire.before = async () => {};
  const token = await session.accessToken();
  expect((await storedSession(store)).access_token).toBe(token);

  // A sign-out ends the session all the same, and later calls say so.
  broken = true;
  await expect(session.logout()).rejects.toThrow(
    'The session has ended, but its stored login could not be removed. No space left on device.',
  );
  for (const call of [session.call('getProfile'), session.logout()])
    expect(await codeOf(call)).toBe('invalid_token');
});

test('on a machine whose clock is slow, a store that takes no writes ends no session', async () => {
  const storage = memoryStorage();
  const { time, session } = await clocks({ storage });
  storage.write = () => Promise.reject(new LatchkeyError('store_failed', 'read-only'));
  time.service += (fourHours + 1) * 1000;
  expect(await codeOf(session.call('getProfile'))).toBe('store_failed');
});

test('a login stored at the moment of removal is not removed', async () => {
  const storage = memoryStorage();
  let meanwhile: (() => Promise<void>) | undefined;
  const raced: Storage = {
    ...storage,
    lock: async (name, work, options) => {
      const first = name === 'document' ? meanwhile : undefined;
      if (first) meanwhile = undefined;
      await first?.();
      return storage.lock(name, work, options);
    },
  };
  const { wire, session, store } = await expired(raced);
  const { access_token } = await storedSession(store);
  await service.ask('POST', '/revoke', { token: (await service.login()).access_token });
  wire.before = async () => {
    const fresh = loginOf(store.server, await service.login(), service.ctx.clock());
    meanwhile = async () => {
      await store.put(fresh);
    };
  };
  const token = await session.renew(access_token);
  expect((await storedSession(store)).access_token).toBe(token);
  expect((await service.ask('GET', '/me', { token })).status).toBe(200);
});

test('a token that still works is returned when its early refresh fails for any reason, and one that was rejected does not wait for that refresh', async () => {
  for (const [ofRejected, fail] of [
    ['store_failed', () => ({ write: () => Promise.reject(new LatchkeyError('store_failed', 'read-only')) })],
    [
      'no error',
      ({ lock }) => ({
        lock: (name, work, options) =>
          options?.timeoutMs === earlyEffort.lockMs
            ? Promise.reject(new LatchkeyError('lock_timeout', 'busy'))
            : lock(name, work, options),
      }),
    ],
  ] satisfies [string, (storage: Storage) => Partial<Storage>][]) {
    const storage = memoryStorage();
    const { store } = await loggedIn(service, storage);
    const { access_token } = await storedSession(store);
    service.pass(14_300);
    const broken = credentialStore({ ...storage, ...fail(storage) }, store.server);
    const session = openSession({ api: service.api, store: broken, clock: clockOf(service) });
    const early = session.accessToken();
    expect(await codeOf(session.renew(access_token))).toBe(ofRejected);
    expect(await early).toBe(access_token);
  }
});

test('an aborted caller does not affect the others, and the refresh is aborted with its last caller', async () => {
  const { wire, session, store } = await expired();
  expect(await codeOf(session.accessToken({ signal: AbortSignal.abort() }))).toBe('aborted');
  expect(wire.sent).toEqual([]);

  const leaving = new AbortController();
  wire.before = async () => leaving.abort();
  const [left, stayed] = await Promise.all([
    codeOf(session.accessToken({ signal: leaving.signal })),
    session.accessToken(),
  ]);
  expect(left).toBe('aborted');
  expect((await storedSession(store)).access_token).toBe(stayed);

  service.pass(fourHours);
  const alone = new AbortController();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const api = apiOf(service, (_url, { signal }) => {
    signal!.addEventListener('abort', () => end());
    alone.abort();
    return new Promise(() => {});
  });
  const hanging = openSession({ api, store, clock: clockOf(service) });
  expect(await codeOf(hanging.accessToken({ signal: alone.signal }))).toBe('aborted');
  await ended;
  wire.before = async () => {};
  expect(await session.accessToken()).toStartWith('lk_at_');
});

test('an abort while waiting for a lock does not affect the others in its queue', async () => {
  const storage = memoryStorage();
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const owner = storage.lock('refresh', () => held);
  const controller = new AbortController();
  const waiter = codeOf(storage.lock('refresh', async () => {}, { signal: controller.signal }));
  const late = codeOf(storage.lock('refresh', async () => {}, { timeoutMs: 5 }));
  const patient = storage.lock('refresh', async () => 'had it');
  expect(await storage.lock('document', async () => 'another lock')).toBe('another lock');
  controller.abort();
  expect(await waiter).toBe('aborted');
  expect(await late).toBe('lock_timeout');
  release();
  expect(await patient).toBe('had it');
  await owner;
});
