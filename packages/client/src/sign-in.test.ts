import { expect, test } from 'bun:test';
import { openApp, type TestApp } from '#support/app.ts';
import { clockOf, codeOf } from '#support/client.ts';
import { type Decision, decideDevice } from '#support/devices.ts';
import { credentialStore } from './credentials.ts';
import type { DeviceLogin } from './device-login.ts';
import { openSession } from './session.ts';
import { signIn } from './sign-in.ts';
import { memoryStorage } from './storage/memory-storage.ts';

const setUp = async () => {
  const service = await openApp('sqlite');
  const api = service.api;
  const store = credentialStore(memoryStorage(), api.server);
  const browser = await service.login();
  const decide = (decision: Decision, { userCode: user_code }: DeviceLogin) =>
    decideDevice(service, decision, { user_code }, browser);
  const signInWith = (onStart: (login: DeviceLogin) => unknown, more: { signal?: AbortSignal } = {}) =>
    signIn({
      api,
      store,
      clock: clockOf(service),
      clientName: 'Projects',
      onStart: async (login) => void (await onStart(login)),
      ...more,
    });
  return { service, api, store, browser, decide, signInWith };
};
const devices = async (service: TestApp, token: string): Promise<number> =>
  (await service.ask('GET', '/sessions', { token })).body.sessions.filter(
    ({ kind }: { kind: string }) => kind === 'device',
  ).length;

test('a sign-in stores a login that a session can use, and ends the one it replaces', async () => {
  const { service, api, store, browser, decide, signInWith } = await setUp();
  for (let times = 0; times < 2; times++) {
    const login = await signInWith((login) => decide('approve', login));
    const me = await openSession({ api, store }).call('getProfile');
    expect([login.user.id, login.user.email]).toEqual([me.id, me.email!]);
    expect(await store.read()).toMatchObject(login);
    expect(await devices(service, browser.access_token)).toBe(1);
  }
});

test('a sign-in that is denied, aborted or cannot be stored leaves nothing behind', async () => {
  const { service, store, browser, decide, signInWith } = await setUp();
  expect(await codeOf(signInWith((login) => decide('deny', login)))).toBe('access_denied');
  const stop = new AbortController();
  let started: DeviceLogin | undefined;
  const stopped = signInWith(
    (login) => {
      started = login;
      stop.abort();
    },
    { signal: stop.signal },
  );
  expect(await codeOf(stopped)).toBe('aborted');
  expect((await decide('approve', started!)).status).toBe(400);
  const failing = new Error('the disk is full');
  store.put = () => Promise.reject(failing);
  expect(await signInWith((login) => decide('approve', login)).catch((error) => error)).toBe(failing);
  expect(await store.read()).toBeNull();
  expect(await devices(service, browser.access_token)).toBe(0);
});
