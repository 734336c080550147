// The verifier that keeps answers until the feed ends them, against the service in this process.

import { describe, expect, spyOn, test } from 'bun:test';
import { openApp, type TestApp } from '#support/app.ts';
import { closeAtTestEnd } from '#support/cleanup.ts';
import { createdKey } from '#support/keys.ts';
import { startedRun } from '#support/runs.ts';
import { addMember, changeService, createOrganization, declareService } from '#support/services.ts';
import { until } from '#support/until.ts';
import { setDisabled } from '../../server/src/identity/account/account.ts';
import { aborted } from './clock.ts';
import { createVerifier } from './verify.ts';

const email = 'ada@example.com';

/** A pause of the verifier, which lasts until the clock of the service has advanced. */
async function sleepOn({ ctx }: TestApp, ms: number, signal?: AbortSignal): Promise<void> {
  await ctx.timers.sleep(ms, signal);
  if (signal?.aborted) throw aborted(signal);
}

async function rig(rights: readonly 'feed'[] = ['feed']) {
  const t = await openApp('sqlite');
  const { id: serviceId, key } = await declareService(t.ctx, { name: 'Verifier', rights });
  const counts = new Map<string, number>();
  const made = {
    t,
    serviceId,
    /** Requests so far, by the last part of their path. */
    sent: (path: string) => counts.get(path) ?? 0,
    active: async (token: string) => (await verifier.verify(token)).active,
    /** Resolves when the verifier has handled what happened so far. */
    caughtUp: async () => {
      const from = made.sent('feed');
      await t.passUntil(() => made.sent('feed') >= from + 2, 'two requests for the feed');
    },
  };
  const verifier = createVerifier({
    server: t.ctx.config.baseUrl,
    serviceKey: key,
    feed: true,
    clock: { now: t.ctx.clock, sleep: (ms, signal) => sleepOn(t, ms, signal) },
    monotonic: t.ctx.clock,
    fetch: async (url, init) => {
      const path = new URL(url).pathname.split('/').at(-1)!;
      counts.set(path, (counts.get(path) ?? 0) + 1);
      return t.fetch(url, init);
    },
  });
  closeAtTestEnd(async () => {
    verifier.close();
    t.stopWaiting();
  });
  return Object.assign(made, { verifier });
}

describe('a verifier with a feed', () => {
  test('keeps an answer without asking again, and drops only what an event ends: one session, a key, a run with its parent, or everything of a user', async () => {
    const r = await rig();
    const { t, verifier } = r;
    const tokens = await t.login(email);
    const { access_token: token } = tokens;
    expect(await r.active(token)).toBe(true);
    await until(() => verifier.metrics().feed === 'following', 'a verifier that follows the feed');
    const { access_token: device } = await t.deviceLogin(tokens);
    const { access_token: run } = await startedRun(t, device, { scope: 'profile' });
    const { id, key } = await createdKey(t, tokens);
    const { access_token: other } = await t.login('bob@example.com');
    const all = [token, device, run, key, other];
    for (const one of all) expect(await r.active(one)).toBe(true);
    await r.caughtUp();
    for (const one of all) expect(await r.active(one)).toBe(true);
    const ask = async () => {
      const before = r.sent('introspect');
      const found = await Promise.all(all.map((one) => r.active(one)));
      return { found, asked: r.sent('introspect') - before };
    };
    expect((await ask()).asked).toBe(0);

    await t.api.call('removeKey', { accessToken: token, params: { id } });
    await r.caughtUp();
    expect(await ask()).toEqual({ found: [true, true, true, false, true], asked: 1 });
    await t.api.call('logout', { accessToken: device, query: { scope: 'session' } });
    await r.caughtUp();
    expect(verifier.metrics()).toMatchObject({ feed: 'following' });
    expect(await ask()).toEqual({ found: [true, false, false, false, true], asked: 3 });
    await t.api.call('updateProfile', { accessToken: token, body: { name: 'Another' } });
    await r.caughtUp();
    expect((await ask()).asked).toBe(4);
    await createOrganization(t.ctx, 'acme', 'Acme');
    const { id: user } = await t.api.call('getProfile', { accessToken: other });
    await addMember(t.ctx, 'acme', user, 'member');
    await setDisabled(t.ctx, email, true);
    await r.caughtUp();
    expect((await ask()).found).toEqual([false, false, false, false, true]);
    expect(verifier.metrics().size).toBe(1);
  });

  test('without the right it caches for seconds, says so once on standard error, and follows once it has the right', async () => {
    const written = spyOn(console, 'error').mockImplementation(() => {});
    const r = await rig([]);
    const { access_token: token } = await r.t.login(email);
    for (let n = 1; n <= 3; n++) {
      expect(await r.active(token)).toBe(true);
      await until(() => r.sent('feed') === n, 'a request for the feed');
      await r.t.untilWaiting(1, 59);
      expect(r.verifier.metrics().feed).toBe('refused');
      await r.active(token);
      const asked = r.sent('introspect');
      for (let n = 0; n < 5; n++) expect(await r.active(token)).toBe(true);
      expect(r.sent('introspect')).toBe(asked);
      if (n === 3) await changeService(r.t.ctx, r.serviceId, { rights: ['feed'] });
      r.t.pass(60);
    }
    await until(async () => {
      await r.active(token);
      return r.verifier.metrics().feed === 'following';
    }, 'a verifier that follows the feed');
    expect(await r.active(token)).toBe(true);
    expect(r.verifier.metrics().kept).toBe(1);
    expect(written.mock.calls.map(([text]) => text)).toEqual([
      expect.stringContaining("Latchkey's feed cannot be read, so tokens are introspected more often: "),
    ]);
    written.mockRestore();
  });
});
