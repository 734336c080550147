// The hardest case for a stored login: many programs share it and all refresh when its access token expires, over a
// network that loses responses, and some are killed at random moments. The session must survive.

import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { credentialStore, tokenMembers } from '@latchkey/client/credentials';
import { fileStorage } from '@latchkey/client/file-storage';
import { storedSession } from '../support/client.ts';
import { loginByMail, request } from '../support/http.ts';
import { isLong } from '../support/long.ts';
import { startLossyProxy } from '../support/lossy-proxy.ts';
import { random, seed } from '../support/seed.ts';
import { startService, type TestService, temporaryDirectory } from '../support/service.ts';
import { until } from '../support/until.ts';
import { startWorker } from '../support/worker.ts';

const processes = 20;
const killedOfThem = 6;
const killedWithinMs = 500;

/**
 * Without a lock, an access token must outlive all retries of one refresh, as every real one does. A program that is
 * overtaken by two refreshes while its own is in flight would present a token that the service takes for stolen.
 */
const variants = {
  real: { rounds: isLong ? 10 : 2, accessTokenSeconds: 2 },
  none: { rounds: 5, accessTokenSeconds: 6 },
};

/** Counts the outcomes of refreshes in the service's log, from line `from` on. */
function refreshes(service: TestService, from: number): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const line of service.logs().slice(from)) {
    const { route, detail } = JSON.parse(line);
    if (!String(route).endsWith('/auth/refresh')) continue;
    counts[detail] = (counts[detail] ?? 0) + 1;
  }
  return counts;
}

/** Success, or an error to retry; anything else would mean that the session has ended. */
const isAcceptable = (outcome: string | undefined) =>
  /^(ok|unreachable|timeout|lock_timeout)\b/.test(outcome ?? '');

const tally = (outcomes: readonly (string | undefined)[]): Record<string, number> =>
  Object.fromEntries(
    Object.entries(Object.groupBy(outcomes, (outcome) => outcome ?? 'ended')).map(([key, all]) => [
      key,
      all!.length,
    ]),
  );

async function share(lock: keyof typeof variants): Promise<void> {
  const { rounds, accessTokenSeconds } = variants[lock];
  const service = await startService({
    env: { LATCHKEY_ACCESS_TOKEN_TTL: String(accessTokenSeconds), LATCHKEY_RATE_LIMITS: 'off' },
  });
  const proxy = await startLossyProxy(Number(new URL(service.url).port), {
    requests: 0.05,
    answers: 0.3,
    random: random.next,
  });
  const email = `shared-${lock}@example.com`;
  const tokens = await loginByMail(service.url, email);
  const path = join(temporaryDirectory(), 'latchkey', 'credentials.json');
  const stored = credentialStore(fileStorage(path), proxy.url);
  await stored.put({
    server: proxy.url,
    user: { id: 'usr_shared', email },
    logged_in_at: new Date().toISOString(),
    ...tokenMembers({ ...tokens, token_type: 'Bearer', expires_in: accessTokenSeconds }, Date.now()),
  });
  const start = () => startWorker([process.execPath], 'shared-login-worker.ts', proxy.url, path, lock);

  const report: string[] = [];
  try {
    for (let round = 0; round < rounds; round++) {
      const from = service.logs().length;
      const lostBefore = proxy.lost.answers;
      const workers = Array.from({ length: processes }, () => start());
      expect(await Promise.all(workers.map((worker) => worker.hear()))).toEqual(workers.map(() => 'ready'));
      await until(async () => (await storedSession(stored)).access_token_expires_at <= Date.now());
      for (const worker of workers) worker.say('go');
      for (const worker of workers.slice(0, killedOfThem)) {
        setTimeout(() => worker.signal('SIGKILL'), random.next() * killedWithinMs);
      }
      const outcomes = await Promise.all(workers.map((worker) => worker.hear()));
      const counts = refreshes(service, from);
      report.push(JSON.stringify({ round, outcomes: tally(outcomes), refreshes: counts }));
      expect(outcomes.slice(0, killedOfThem).filter((outcome) => !isAcceptable(outcome) && outcome)).toEqual(
        [],
      );
      expect(outcomes.slice(killedOfThem).filter((outcome) => !isAcceptable(outcome))).toEqual([]);
      if (lock === 'real') {
        const { rotated = 0, retry = 0, ...others } = counts;
        expect(others).toEqual({});
        expect(rotated).toBeGreaterThan(0);
        expect(retry).toBeLessThanOrEqual(proxy.lost.answers - lostBefore + killedOfThem);
      }
    }

    // A new program, over a network that loses nothing.
    const last = start();
    proxy.mend();
    expect([await last.hear(), await last.ask('go')]).toEqual(['ready', 'ok']);
    expect(await last.finish()).toBe('');
    const token = (await storedSession(stored)).access_token;
    const { body: list } = await request(service.url, 'GET', '/sessions', { token });
    expect(list.sessions).toHaveLength(1);
    const database = new Database(join(service.directory, 'latchkey.db'), { readonly: true });
    expect(database.query("SELECT * FROM events WHERE type = 'refresh_theft'").all()).toEqual([]);
    database.close();
    expect(refreshes(service, 0)['theft']).toBeUndefined();
  } catch (error) {
    throw new Error(`LATCHKEY_TEST_SEED=${seed}\n${report.join('\n')}`, { cause: error });
  } finally {
    proxy.close();
    await service.stop();
  }
  process.stdout.write(`${lock} lock\n${report.join('\n')}\n${JSON.stringify(proxy.lost)}\n`);
}

test(`${processes} processes that share one stored login, ${variants.real.rounds} times over, all get tokens, and the session survives`, () =>
  share('real'));

test.if(isLong)(
  `${processes} processes that share one stored login without a working lock, as on a network file system, all get tokens, and the session survives`,
  () => share('none'),
);
