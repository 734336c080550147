// The verifier with a feed against servers, networks and clocks that are wrong: no token that has ended passes for longer
// than 2 s and one request.

import { describe, expect, test } from 'bun:test';
import { closeAtTestEnd } from '#support/cleanup.ts';
import { refuses, responds } from '#support/responses.ts';
import { turns, until } from '#support/until.ts';
import { createVerifier } from './verify.ts';

const token = `lk_at_${'A'.repeat(80)}`;
const user = 'usr_1';
const session = 'ses_1';
const start = Date.UTC(2026, 10, 20);

type Body = Readonly<Record<string, unknown>>;
/** The response to a request of the feed. */
type FeedResponse = Body | Response | Promise<Body | Response>;

/** A security event token. Its signature is not verified here. */
const eventToken = (payload: Body): string =>
  `e30.${Buffer.from(JSON.stringify(payload)).toString('base64url')}.`;

const revoked = 'https://schemas.openid.net/secevent/caep/event-type/session-revoked';
const ended = (id = session, sub = user): string =>
  eventToken({
    sub_id: { format: 'complex', user: { format: 'iss_sub', sub }, session: { format: 'opaque', id } },
    events: { [revoked]: {} },
  });

/** A server of which a test decides what it answers, and the clocks of a verifier. */
function openRig() {
  const requests: Body[] = [];
  const waiting: ((response: FeedResponse) => void)[] = [];
  const errors: string[] = [];
  const rig = {
    /** What introspection says about every token. */
    claims: { active: true, token_use: 'access_token', sub: user, sid: session } as Body,
    expiresAt: start + 3_600_000,
    asked: 0,
    monotonic: 0,
    clock: start,
    requests,
    errors,
    /** Advances both clocks. */
    pass(ms: number) {
      rig.monotonic += ms;
      rig.clock += ms;
    },
    /** Answers the request of the feed that is under way, or the next one, and waits for the one after it. */
    async answer(response: FeedResponse) {
      const before = requests.length;
      await until(() => waiting.length > 0, 'a held response');
      waiting.shift()!(response);
      await until(() => requests.length > before || rig.isClosed, 'the next request');
    },
    /** Delays the answers about tokens that are asked for from now on. */
    gate: Promise.resolve(),
    isClosed: false,
    active: async () => (await verifier.verify(token)).active,
    /** Whether the token is accepted without asking. */
    isKept: async () => {
      const before = rig.asked;
      await rig.active();
      return rig.asked === before;
    },
    close: () => {
      rig.isClosed = true;
      verifier.close();
    },
  };
  const verifier = createVerifier({
    server: 'http://localhost:1',
    serviceKey: 'svc_1:secret',
    feed: true,
    onFeedError: ({ code }) => void errors.push(code),
    clock: { now: () => rig.clock, sleep: () => turns(1) },
    monotonic: () => rig.monotonic,
    fetch: async (url, init) => {
      if (!url.endsWith('/feed')) {
        rig.asked++;
        const response = responds({ exp: Math.floor(rig.expiresAt / 1000), ...rig.claims });
        await rig.gate;
        return response;
      }
      requests.push(JSON.parse(String(init.body)));
      const { promise, resolve } = Promise.withResolvers<FeedResponse>();
      waiting.push(resolve);
      const response = await promise;
      return response instanceof Response ? response : responds(response);
    },
  });
  closeAtTestEnd(async () => verifier.close());
  return Object.assign(rig, { verifier });
}

const nothing = { sets: {}, moreAvailable: false, after: 0 };

/** A verifier that follows the feed. Introspection says this about its token. */
async function following(told: Partial<Pick<ReturnType<typeof openRig>, 'claims' | 'expiresAt'>> = {}) {
  const rig = Object.assign(openRig(), told);
  await rig.active();
  await rig.answer({ ...nothing, begun: true });
  await rig.active();
  return rig;
}

/** A verifier that follows the feed and keeps the token. */
async function keeping() {
  const rig = await following();
  expect(await rig.isKept()).toBe(true);
  return rig;
}

describe('the moment that an answer of the feed speaks for', () => {
  test('is never later than its arrival, whatever the server says', async () => {
    const rig = await keeping();
    rig.pass(500);
    await rig.answer({ ...nothing, after: 1e15 });
    expect(rig.verifier.metrics().feedAgeMs).toBe(0);
    rig.pass(2_001);
    expect(await rig.isKept()).toBe(false);
  });

  test('may lie before the request, and is as old as the request if the answer is late', async () => {
    const rig = await keeping();
    await rig.answer({ ...nothing, after: -2_001 });
    expect(await rig.isKept()).toBe(false);
    await rig.answer(nothing);
    expect(await rig.isKept()).toBe(true);
    rig.pass(2_001);
    await rig.answer(nothing);
    expect(await rig.isKept()).toBe(false);
  });

  test('is unknown if the answer cannot be read', async () => {
    const rig = await keeping();
    rig.pass(1_900);
    for (const body of [
      { sets: {}, after: null },
      { sets: [1], after: 0 },
      { sets: null, after: 0 },
      { after: 0 },
    ])
      await rig.answer(body);
    await rig.answer(new Response('<p>Welcome</p>', { headers: { 'Content-Type': 'text/html' } }));
    await rig.answer({ ...nothing, padding: 'x'.repeat(3_000_000) });
    expect(rig.errors).toEqual(Array(6).fill('not_latchkey'));
    rig.pass(200);
    expect(await rig.isKept()).toBe(false);
  });
});

describe('events', () => {
  test('that come twice, in any order, or for others end what they end and nothing else', async () => {
    const rig = await keeping();
    const foreign = { b: ended('ses_2'), a: ended(session, 'usr_2'), '10': ended('ses_3', 'usr_3') };
    for (let n = 0; n < 2; n++) await rig.answer({ ...nothing, sets: foreign });
    expect(await rig.isKept()).toBe(true);
    expect(rig.requests.at(-1)).toMatchObject({ ack: ['10', 'b', 'a'], setErrs: {} });
    rig.claims = { active: false };
    for (let n = 0; n < 2; n++) await rig.answer({ ...nothing, sets: { c: ended(), ...foreign } });
    expect(await rig.active()).toBe(false);
    expect(rig.verifier.metrics()).toMatchObject({ size: 0, dropped: 1 });
  });

  test('that cannot be understood end everything, and are reported', async () => {
    const complex = { format: 'complex', user: { sub: user }, session: { id: session } };
    const unreadable = [
      'not a token',
      null,
      {},
      7,
      'e30.%%%.',
      eventToken({}),
      eventToken({ sub_id: complex, events: {} }),
      eventToken({ sub_id: complex, events: { [revoked]: {}, other: {} } }),
      eventToken({ sub_id: { format: 'complex', session: { id: session } }, events: { [revoked]: {} } }),
      eventToken({ sub_id: { format: 'email', email: 'ada@example.com' }, events: { [revoked]: {} } }),
    ];
    for (const set of unreadable) {
      const rig = await keeping();
      await rig.answer({ ...nothing, sets: { one: set } });
      expect({ set, isKept: await rig.isKept() }).toEqual({ set, isKept: false });
      expect(rig.requests.at(-1)).toMatchObject({
        ack: [],
        setErrs: { one: { err: 'invalid_request' } },
      });
      rig.close();
    }
  });
});

describe('a gap', () => {
  test('ends everything if the service says so', async () => {
    for (const response of [() => ({ ...nothing, begun: true }), () => refuses('gone', 410)]) {
      const rig = await keeping();
      await rig.answer(response());
      expect(await rig.isKept()).toBe(false);
      rig.close();
    }
  });

  test('is assumed if the feed was away for so long that the answer which tells of it may have been lost', async () => {
    const rig = await keeping();
    for (let passed = 0; passed < 600_000; passed += 50_000) {
      rig.pass(50_000);
      await rig.answer(Promise.reject(new Error('lost')));
      // Asked, and kept for when the feed is back.
      expect(await rig.isKept()).toBe(false);
    }
    rig.claims = { active: false };
    await rig.answer(nothing);
    await rig.answer(nothing);
    expect(await rig.active()).toBe(false);
    // A copy of the process that slept as long must not acknowledge what this one has not seen.
    expect(rig.requests.at(-1)!['reader']).not.toBe(rig.requests[0]!['reader']);
  });
});

describe('an answer about a token', () => {
  test('that is inactive replaces what was kept, even if no event says so', async () => {
    const rig = await keeping();
    rig.pass(2_001);
    rig.claims = { active: false };
    expect(await rig.active()).toBe(false);
    await rig.answer(nothing);
    await rig.answer(nothing);
    expect(rig.verifier.metrics().feedAgeMs).toBe(0);
    expect(await rig.active()).toBe(false);
  });

  test('is not kept after its token expired, even if the clock is set back', async () => {
    const rig = await following({ expiresAt: start + 60_000 });
    rig.clock -= 3_600_000;
    for (let seconds = 0; seconds < 60; seconds++) {
      expect(await rig.isKept()).toBe(true);
      rig.pass(1_000);
      await rig.answer(nothing);
      await rig.answer(nothing);
    }
    expect(await rig.isKept()).toBe(false);
  });
});

test('tokens that services have for themselves are asked for every time', async () => {
  const rig = await following({ claims: { active: true, token_use: 'access_token', sub: 'svc_1' } });
  for (let n = 0; n < 3; n++) expect(await rig.isKept()).toBe(false);
});

describe('an answer that is under way', () => {
  test('is shared with no one while the feed lags, and when something of its user comes neither kept nor shared with later callers', async () => {
    const rig = await keeping();
    rig.pass(2_001);
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    rig.gate = gate;
    const early = rig.active();
    void rig.active();
    await until(() => rig.asked === 4, 'two early requests');
    await rig.answer({ ...nothing, sets: { a: ended() } });
    await rig.answer(nothing);
    rig.gate = Promise.resolve();
    rig.claims = { active: false };
    expect(await rig.active()).toBe(false);
    open();
    expect(await early).toBe(true);
    expect(await rig.active()).toBe(false);
  });

  test('before the first answer of the feed is not kept', async () => {
    const rig = openRig();
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    rig.gate = gate;
    const early = rig.active();
    await rig.answer({ ...nothing, begun: true });
    open();
    expect([await early, rig.verifier.metrics().kept]).toEqual([true, 0]);
    await rig.active();
    expect(rig.verifier.metrics().kept).toBe(1);
  });
});

test('the feed is not read before the first token, and no longer once the verifier is closed', async () => {
  const rig = openRig();
  await turns(5);
  expect(rig.requests).toEqual([]);
  await rig.active();
  await rig.answer({ ...nothing, begun: true });
  const read = rig.requests.length;
  rig.close();
  await rig.answer(nothing);
  expect(await rig.active()).toBe(true);
  await turns(5);
  expect([rig.requests.length, rig.verifier.metrics().size]).toEqual([read, 0]);
});

test('a clock that jumps, or a monotonic one that stops, lets nothing pass for longer', async () => {
  for (const jump of [-3_600_000, 3_600_000]) {
    const rig = await keeping();
    rig.clock += jump;
    if (jump > 0) expect(await rig.isKept()).toBe(false);
    rig.pass(2_001);
    expect(await rig.isKept()).toBe(false);
    rig.close();
  }
  const rig = await keeping();
  rig.clock += 2_001;
  expect(await rig.isKept()).toBe(false);
});

test('an answer of the feed that arrives while the verifier is closed makes nothing fresh again', async () => {
  const rig = await keeping();
  const { promise, resolve } = Promise.withResolvers<Body>();
  rig.isClosed = true;
  await rig.answer(promise);
  resolve(nothing);
  rig.verifier.close();
  await turns(5);
  expect(rig.verifier.metrics().feed).toBe('starting');
  expect(await rig.isKept()).toBe(false);
});
