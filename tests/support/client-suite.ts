// The guarantees of the SDK as a suite for every runtime: Bun, Node and browsers. It imports only the SDK, talks to a
// real service over HTTP, and returns its findings for the test to compare.

import { createApi } from '@latchkey/client/api';
import { credentialStore, tokenMembers } from '@latchkey/client/credentials';
import { startDeviceLogin } from '@latchkey/client/device-login';
import { hasCode, LatchkeyError } from '@latchkey/client/errors';
import { memoryStorage } from '@latchkey/client/memory-storage';
import { openSession } from '@latchkey/client/session';
import { createVerifier } from '@latchkey/client/verify';

export interface SuiteOptions {
  readonly server: string;
  /** The access token of a recent browser session, which approves the device login. */
  readonly approver: string;
  /** A server that introspects tokens, never responds at `/never` and redirects at `/redirect`. */
  readonly introspection: string;
  readonly serviceKey: string;
}

/** The results by guarantee. */
export type Findings = Record<string, unknown>;

export async function runSuite({
  server,
  approver,
  introspection,
  serviceKey,
}: SuiteOptions): Promise<Findings> {
  const paths: string[] = [];
  const keys: (string | null)[] = [];
  let losing = 0;
  const api = createApi({
    server,
    fetch: async (url, init) => {
      const path = new URL(url).pathname.replace('/api/v1/auth', '');
      paths.push(path);
      const answer = await fetch(url, init);
      if (path !== '/refresh') return answer;
      keys.push(new Headers(init.headers).get('Idempotency-Key'));
      if (losing-- <= 0) return answer;
      throw new TypeError('the response was lost');
    },
  });
  const refreshes = () => paths.filter((path) => path === '/refresh').length;

  const waits: number[] = [];
  const deviceLogin = await startDeviceLogin(api, { clientName: 'suite', deviceName: 'any runtime' });
  await api.call('approveDevice', { accessToken: approver, body: { user_code: deviceLogin.userCode } });
  const tokens = await deviceLogin.tokens({ onWait: ({ seconds }) => waits.push(seconds) });

  const store = credentialStore(memoryStorage(), server);
  const now = Date.now();
  const profile = await api.call('getProfile', { accessToken: tokens.access_token });
  await store.put({
    server,
    user: { id: profile.id, email: profile.email! },
    logged_in_at: new Date(now).toISOString(),
    ...tokenMembers(tokens, now),
  });
  const session = openSession({ api, store });
  const first = await session.accessToken();

  const renewed = new Set(await Promise.all(Array.from({ length: 50 }, () => session.renew(first))));
  const refreshesOf50 = refreshes();
  losing = 1;
  const [second] = renewed;
  const third = await session.renew(second!);
  const stored = await store.read();

  const verifier = createVerifier({ server: introspection, serviceKey });
  const verified = await Promise.all([verifier.verify('lk_at_active'), verifier.verify('lk_at_other')]);
  const foreign = createApi({ server: introspection, timeoutMs: 300 });
  const unreachable = createApi({ server: 'http://127.0.0.1:1' });
  const controller = new AbortController();
  const aborted = codeOf(foreign.send('/never', { signal: controller.signal }, 60_000));
  controller.abort();

  return {
    secondsBetweenPolls: waits,
    firstToken: first === tokens.access_token,
    email: (await session.call('getProfile')).email,
    refreshesOf50,
    tokensOf50: renewed.size,
    refreshesWithLostAnswer: refreshes() - refreshesOf50,
    sameKey: keys.at(-1) !== null && keys.at(-1) === keys.at(-2) && keys.at(-1) !== keys[0],
    storedBeforeUsed: stored?.access_token === third,
    lastTokenWorks: (await session.fetch('/api/v1/auth/me')).status,
    verified: verified.map((answer) => (answer.active ? answer.sub : 'inactive')),
    wrongToken: await codeOf(api.call('getProfile', { accessToken: 'lk_at_wrong' })),
    namesTheRequest: await api
      .call('getProfile', { accessToken: 'lk_at_wrong' })
      .catch((error) => error instanceof LatchkeyError && typeof error.requestId === 'string'),
    neverAnswers: await codeOf(foreign.send('/never', {})),
    redirects: await codeOf(foreign.send('/redirect', {})),
    isNoLatchkey: await codeOf(foreign.send('/', {})),
    unreachable: await codeOf(unreachable.call('getProfile')),
    aborted: await aborted,
    logout: await codeOf(session.logout()),
    afterLogout: await codeOf(session.accessToken()),
    tokenAfterLogout: await codeOf(api.call('getProfile', { accessToken: third })),
  };
}

const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'no error',
    (error) => (hasCode(error, error.code) ? error.code : String(error)),
  );
