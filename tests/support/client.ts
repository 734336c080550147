// The SDK against the service in this process, without a socket, with responses that can get lost.

import { type Api, createApi } from '@latchkey/client/api';
import {
  type CredentialStore,
  credentialStore,
  type Storage,
  type StoredSession,
  tokenMembers,
} from '@latchkey/client/credentials';
import { LatchkeyError } from '@latchkey/client/errors';
import type { Clock } from '@latchkey/client/internal/clock';
import type { Fetch } from '@latchkey/client/internal/transport';
import { memoryStorage } from '@latchkey/client/memory-storage';
import { openSession } from '@latchkey/client/session';
import type { TestApp, Tokens } from './app.ts';

/** The SDK with a `fetch` of the test's own. */
export const apiOf = (test: TestApp, fetch: Fetch): Api =>
  createApi({ server: test.ctx.config.baseUrl, fetch });

/** The clock of the service. Sleeping advances it instead of waiting. */
export const clockOf = (test: TestApp): Clock => ({
  now: () => test.ctx.clock(),
  sleep: async (ms) => test.pass(ms / 1000),
});

export const loginOf = (server: string, tokens: Tokens, now: number): StoredSession => ({
  server,
  user: { id: 'usr_ada', email: 'ada@example.com' },
  logged_in_at: new Date(now).toISOString(),
  ...tokenMembers({ ...tokens, token_type: 'Bearer' }, now),
});

/** The stored login, which must be a session. */
export async function storedSession(store: CredentialStore): Promise<StoredSession> {
  const login = await store.read();
  if (!login || login.kind === 'key') throw new Error(`no session is stored for ${store.server}`);
  return login;
}

/** Forwards requests, records them, and interferes as a test demands. */
export function lossy(fetch: Fetch) {
  let losing = 0;
  const wire = {
    /** The requests sent so far. */
    sent: [] as Request[],
    /** Loses the next responses, after the service has handled the requests. */
    loseNext: (answers: number): void => {
      losing = answers;
    },
    /** Runs before a request is forwarded. */
    before: async (_url: string): Promise<void> => {},
    /** A response to return instead of the service's. */
    replace: (_url: string): Response | undefined => undefined,
    fetch: async (url: string, init: RequestInit): Promise<Response> => {
      wire.sent.push(new Request(url, { ...init, signal: null }));
      await wire.before(url);
      const answer = wire.replace(url) ?? (await fetch(url, init));
      if (losing-- <= 0) return answer;
      throw new TypeError('the response was lost');
    },
  };
  return wire;
}

/** A stored device login, with a browser login of the same person, on a service in this process. */
export async function loggedIn(service: TestApp, storage: Storage = memoryStorage(), email?: string) {
  const browser = await service.login(email);
  const server = service.ctx.config.baseUrl;
  const store = credentialStore(storage, server);
  await store.put(loginOf(server, await service.deviceLogin(browser), service.ctx.clock()));
  // Two access tokens of one session that expire in the same millisecond are identical.
  service.pass(1);
  const wire = lossy(service.fetch);
  const api = apiOf(service, wire.fetch);
  const open = () => openSession({ api, store, clock: clockOf(service) });
  const works = async (token: string) => (await service.ask('GET', '/me', { token })).status === 200;
  return { browser, store, wire, api, open, session: open(), works };
}

/** The code of the error that the promise rejects with, or `no error`. */
export const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'no error',
    (error) => (error instanceof LatchkeyError ? error.code : String(error)),
  );
