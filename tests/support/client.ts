// The SDK as the client of a service in this process: no socket, the real service, and answers that get lost.

import { type Api, createApi } from '@latchkey/client/api';
import type { Clock } from '@latchkey/client/clock';
import {
  type CredentialStore,
  credentialStore,
  type Login,
  tokenMembers,
} from '@latchkey/client/credentials';
import { memoryStorage } from '@latchkey/client/memory-storage';
import type { Fetch } from '@latchkey/client/transport';
import type { TestApp, Tokens } from './app.ts';

/** Requests to the service in this process. */
export const fetchOf =
  (test: TestApp): Fetch =>
  async (url, init) =>
    test.app.fetch(new Request(url, init), { peer: '192.0.2.1' });

export const apiOf = (test: TestApp, fetch: Fetch = fetchOf(test)): Api =>
  createApi({ server: test.ctx.config.baseUrl, fetch });

/** A clock of the service's time, on which waiting passes the time instead of taking it. */
export const clockOf = (test: TestApp): Clock => ({
  now: () => test.ctx.clock(),
  sleep: async (milliseconds) => test.pass(milliseconds / 1000),
});

export const loginOf = (server: string, tokens: Tokens, now: number): Login => ({
  server,
  user: { id: 'usr_ada', email: 'ada@example.com' },
  logged_in_at: new Date(now).toISOString(),
  ...tokenMembers({ ...tokens, token_type: 'Bearer' }, now),
});

/** A store in memory that holds this login. */
export async function storeWith(test: TestApp, tokens: Tokens): Promise<CredentialStore> {
  const server = test.ctx.config.baseUrl;
  const store = credentialStore(memoryStorage(), server);
  await store.put(loginOf(server, tokens, test.ctx.clock()));
  return store;
}

/** Carries requests on and, as long as it is told to, loses what comes back. */
export function lossy(fetch: Fetch): { fetch: Fetch; loseNext(answers: number): void; sent: Request[] } {
  let losing = 0;
  const sent: Request[] = [];
  return {
    sent,
    loseNext: (answers) => {
      losing = answers;
    },
    fetch: async (url, init) => {
      sent.push(new Request(url, { ...init, signal: null }));
      const answer = await fetch(url, init);
      if (losing-- <= 0) return answer;
      throw new TypeError('the answer was lost');
    },
  };
}
