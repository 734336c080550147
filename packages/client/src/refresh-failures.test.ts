// Failures that must never remove a stored login: networks, busy servers, other servers, failing stores, aborts.

import { expect, test } from 'bun:test';
import { openApp } from '#support/app.ts';
import { apiOf, clockOf, codeOf, loggedIn, loginOf, storedSession } from '#support/client.ts';
import { refuses, responds } from '#support/responses.ts';
import { fresh } from '#support/shared.ts';
import { credentialStore, type Storage } from './credentials.ts';
import { LatchkeyError } from './errors.ts';
import { openSession } from './session.ts';
import { memoryStorage } from './storage/memory-storage.ts';

const service = fresh(() => openApp('sqlite'));
const fourHours = 14_400;

/** A stored login whose access token has expired. */
async function expired(storage?: Storage) {
  const login = await loggedIn(service, storage);
  service.pass(fourHours);
  return login;
}

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
    expect({ ...(await store.read()), refresh_started_at: 0 }).toEqual({
      ...before!,
      refresh_started_at: 0,
    });
  }
  expect(wire.sent.some(({ url }) => url.includes('evil'))).toBe(false);
  wire.replace = () => undefined;
  expect(await session.accessToken()).toStartWith('lk_at_');
});

test('no refresh is sent if the store cannot be written, and one that cannot be stored is repeated later', async () => {
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
  expect((await service.ask('GET', '/me', { token })).status).toBe(200);
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

test('a token that still works is returned when its early refresh fails for any reason', async () => {
  for (const fail of [
    { write: () => Promise.reject(new LatchkeyError('store_failed', 'read-only')) },
    { lock: () => Promise.reject(new LatchkeyError('lock_timeout', 'busy')) },
  ] satisfies Partial<Storage>[]) {
    const storage = memoryStorage();
    const { store } = await loggedIn(service, storage);
    const { access_token } = await storedSession(store);
    service.pass(14_300);
    const broken = credentialStore({ ...storage, ...fail }, store.server);
    const session = openSession({ api: service.api, store: broken, clock: clockOf(service) });
    expect(await session.accessToken()).toBe(access_token);
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
