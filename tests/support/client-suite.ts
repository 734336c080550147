// What the SDK does with each runtime's own fetch and timers, as a suite for Bun, Node and browsers. It imports only the
// SDK, talks to a real service over HTTP, and returns its findings for the test to compare.

import { createApi } from '@latchkey/client/api';
import { credentialStore, tokenMembers } from '@latchkey/client/credentials';
import { hasCode, LatchkeyError } from '@latchkey/client/errors';
import { memoryStorage } from '@latchkey/client/memory-storage';
import { openSession } from '@latchkey/client/session';
import { createVerifier } from '@latchkey/client/verify';
import type { TokenSet } from '@latchkey/contract/tokens';

export interface SuiteOptions {
  readonly server: string;
  /** A session of its own. */
  readonly tokens: TokenSet;
  /** A server that is no Latchkey, never responds at `/never` and redirects at `/redirect`. */
  readonly other: string;
  /** `id:secret` of a service that may read the feed, where a service can run. */
  readonly serviceKey?: string;
}

/** The results by guarantee. */
export type Findings = Record<string, unknown>;

export async function runSuite({ server, tokens, other, serviceKey }: SuiteOptions): Promise<Findings> {
  /** The idempotency keys of the refreshes so far. */
  const keys: (string | null)[] = [];
  let losing = 0;
  const api = createApi({
    server,
    fetch: async (url, init) => {
      const answer = await fetch(url, init);
      if (!url.endsWith('/refresh')) return answer;
      keys.push(new Headers(init.headers).get('Idempotency-Key'));
      if (losing-- <= 0) return answer;
      throw new TypeError('the response was lost');
    },
  });
  const store = credentialStore(memoryStorage(), server);
  const now = Date.now();
  await store.put({
    server,
    user: { id: 'usr_suite', email: 'suite@example.com' },
    logged_in_at: new Date(now).toISOString(),
    ...tokenMembers(tokens, now),
  });
  const session = openSession({ api, store });
  const first = await session.accessToken();

  const renewed = new Set(await Promise.all(Array.from({ length: 50 }, () => session.renew(first))));
  const refreshesOf50 = keys.length;
  losing = 1;
  const [second] = renewed;
  await session.renew(second!);

  const foreign = createApi({ server: other });
  const unreachable = createApi({ server: 'http://127.0.0.1:1' });
  const controller = new AbortController();
  const aborted = codeOf(foreign.send('/never', { signal: controller.signal }, 60_000));
  controller.abort();

  // A stall of the machine must not end a request.
  const verifier = serviceKey && createVerifier({ server, serviceKey, feed: true, timeoutMs: 60_000 });
  const token = await session.accessToken();
  const isActive = async () => verifier && (await verifier.verify(token)).active;
  // It asks each time while it does not follow the feed, or is late to read it.
  for (let asked = -1; verifier && asked !== verifier.metrics().asked; await pause()) {
    asked = verifier.metrics().asked;
    if (!(await isActive())) throw new Error('the token is not active');
  }

  const isRefused = async (): Promise<boolean> => {
    while (await isActive()) await pause();
    if (verifier) verifier.close();
    return true;
  };

  return {
    email: (await session.call('getProfile')).email,
    refreshesOf50,
    tokensOf50: renewed.size,
    refreshesWithLostAnswer: keys.length - refreshesOf50,
    sameKey: keys.at(-1) !== null && keys.at(-1) === keys.at(-2) && keys.at(-1) !== keys[0],
    lastTokenWorks: (await session.fetch('/api/v1/auth/me')).status,
    wrongToken: await codeOf(api.call('getProfile', { accessToken: 'lk_at_wrong' })),
    namesTheRequest: await api
      .call('getProfile', { accessToken: 'lk_at_wrong' })
      .catch((error) => error instanceof LatchkeyError && typeof error.requestId === 'string'),
    neverAnswers: await codeOf(foreign.send('/never', {}, 300)),
    redirects: await codeOf(foreign.send('/redirect', {})),
    isNoLatchkey: await codeOf(foreign.send('/', {})),
    unreachable: await codeOf(unreachable.call('getProfile')),
    aborted: await aborted,
    logout: await codeOf(session.logout()),
    afterLogout: await codeOf(session.accessToken()),
    ...(verifier && { keptAnswerEnds: await isRefused() }),
  };
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 2));

const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'no error',
    (error) => (hasCode(error, error.code) ? error.code : String(error)),
  );
