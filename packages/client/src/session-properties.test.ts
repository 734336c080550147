// Whatever happens to the processes that share a stored login, in any order: the session does not end, and no refresh
// looks like a theft. Lost responses are requested again within the contract's 600 s.

import { expect, test } from 'bun:test';
import { newAddress } from '#support/account.ts';
import { onBothDatabases, type TestApp } from '#support/app.ts';
import { apiOf, codeOf, loggedIn, storedSession } from '#support/client.ts';
import fc from '#support/fc.ts';
import { credentialStore, type Storage } from './credentials.ts';
import { openSession, type Session } from './session.ts';
import { memoryStorage } from './storage/memory-storage.ts';
import type { Fetch } from './transport.ts';

/** Leaves room for the pauses between retries. */
const repeatWithinSeconds = 500;
const never = new Promise<never>(() => {});

/** What happens to one of the processes. */
const step = fc.oneof(
  // Concurrent calls in two processes.
  fc.record({ do: fc.constant('call' as const), callers: fc.integer({ min: 1, max: 8 }) }),
  // The next responses are lost, of a refresh or of a call with the token.
  fc.record({ do: fc.constant('lose' as const), answers: fc.integer({ min: 1, max: 9 }) }),
  // A process is killed before its request is sent, or after the service has handled it.
  fc.record({ do: fc.constant('kill' as const), when: fc.constantFrom('before', 'after') }),
  // Processes that share only the document lock, or none, refresh at the same time as one that shares both.
  fc.record({
    do: fc.constant('renewElsewhere' as const),
    processes: fc.integer({ min: 1, max: 3 }),
    lock: fc.constantFrom('document' as const, 'none' as const),
  }),
  // The access token is rejected, as after a key rotation.
  fc.record({ do: fc.constant('refuse' as const) }),
  fc.record({ do: fc.constant('pass' as const), seconds: fc.integer({ min: 1, max: 20_000 }) }),
  // This machine's clock is set to this difference from the service's.
  fc.record({ do: fc.constant('setClock' as const), seconds: fc.integer({ min: -100_000, max: 100_000 }) }),
);
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

async function processesOf(service: TestApp) {
  const storage = memoryStorage();
  const { store, wire } = await loggedIn(service, storage, newAddress());
  let skewMs = 0;
  let unansweredSince: number | undefined;
  const clock = {
    now: () => service.ctx.clock() + skewMs,
    sleep: async (ms: number) => service.pass(ms / 1000),
  };
  const processOf = (fetch: Fetch = wire.fetch, held: Storage = storage): Session =>
    openSession({ api: apiOf(service, fetch), store: credentialStore(held, store.server), clock });
  const unlocked = (lock: 'document' | 'none'): Storage => ({
    ...storage,
    lock: (name, work) => (name === lock ? storage.lock(name, work) : work()),
  });
  const [one, other] = [processOf(), processOf()];

  const run = async (step: Step): Promise<void> => {
    switch (step.do) {
      case 'call': {
        const calls = Array.from({ length: step.callers }, (_, n) =>
          codeOf((n % 2 ? one : other).call('getProfile')),
        );
        for (const code of await Promise.all(calls)) expect(['no error', 'unreachable']).toContain(code);
        return;
      }
      case 'lose':
        return wire.loseNext(step.answers);
      case 'kill': {
        const controller = new AbortController();
        const killed = processOf(async (url, init) => {
          if (step.when === 'after') await service.fetch(url, { ...init, signal: null });
          controller.abort();
          return never;
        });
        const stored = await storedSession(store);
        return void (await codeOf(killed.renew(stored.access_token, { signal: controller.signal })));
      }
      case 'renewElsewhere': {
        const stored = await storedSession(store);
        const elsewhere = Array.from({ length: step.processes }, () =>
          processOf(wire.fetch, unlocked(step.lock)),
        );
        const all = [one, ...elsewhere].map((session) => codeOf(session.renew(stored.access_token)));
        for (const code of await Promise.all(all)) expect(['no error', 'unreachable']).toContain(code);
        return;
      }
      case 'refuse': {
        const stored = await storedSession(store);
        return void (await store.replace(stored, { ...stored, access_token: 'lk_at_refused' }));
      }
      case 'setClock':
        skewMs = step.seconds * 1000;
        return;
      case 'pass': {
        const since = unansweredSince ?? service.ctx.clock();
        const left = repeatWithinSeconds - (service.ctx.clock() - since) / 1000;
        service.pass(
          unansweredSince === undefined ? step.seconds : Math.max(0, Math.min(step.seconds, left)),
        );
      }
    }
  };

  return {
    step: async (next: Step) => {
      const before = service.ctx.clock();
      await run(next);
      const isUnanswered = (await storedSession(store)).refresh_started_at !== undefined;
      unansweredSince = isUnanswered ? (unansweredSince ?? before) : undefined;
    },
    end: async () => {
      wire.loseNext(0);
      for (const session of [one, other]) expect((await session.call('getProfile')).id).toStartWith('usr_');
      const { body } = await service.ask('GET', '/sessions', {
        token: (await storedSession(store)).access_token,
      });
      return body.sessions.filter(({ kind }: { kind: string }) => kind === 'device').length;
    },
  };
}

onBothDatabases('processes that share a stored login', (open, dialect) => {
  test('keep their session and never look like a theft, whatever is lost, killed or set wrong', async () => {
    const service = await open();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (steps) => {
        const processes = await processesOf(service);
        const from = service.logs.length;
        for (const next of steps) await processes.step(next);
        expect(await processes.end()).toBe(1);
        const details = new Set(service.logs.slice(from).map((line) => JSON.parse(line).detail));
        expect(details).not.toContain('theft');
        expect(details).not.toContain('race');
      }),
      { numRuns: dialect === 'sqlite' ? 80 : 20 },
    );
  });
});
