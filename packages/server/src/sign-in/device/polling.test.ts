import { describe, expect, test } from 'bun:test';
import { outcome } from '../../../../../tests/support/account.ts';
import { type Answer, onBothDatabases, sharedNodes } from '../../../../../tests/support/app.ts';
import { readHandle } from '../../platform/crypto/handle.ts';
import { AuthError } from '../../platform/errors.ts';
import {
  authorizationIdOf,
  decidePoll,
  earlyPollToleranceMs,
  type PolledAuthorization,
} from './redeeming.ts';
import * as store from './store.ts';

const settings = { LATCHKEY_RATE_LIMITS: 'off' };
const pending = '400 authorization_pending';
const countOf = (answers: Answer[], expected: string) =>
  answers.filter((answer) => outcome(answer) === expected).length;

onBothDatabases('polling with a device code', (open, dialect) => {
  const { app, node } = sharedNodes(open, dialect, { settings });
  const nodes = [...new Set([app, node])];

  const start = async (): Promise<{ device_code: string; user_code: string }> =>
    (await app.ask('POST', '/device')).body;
  const approve = async (user_code: string) => {
    const { access_token: token } = await app.login();
    expect((await app.ask('POST', '/device/approve', { json: { user_code }, token })).status).toBe(204);
  };
  const poll = (device_code: string, key?: string, node = app) =>
    node.ask('POST', '/token', {
      json: { device_code },
      headers: key === undefined ? {} : { 'Idempotency-Key': key },
    });
  const pollAtOnce = (device_code: string, keyOf: (i: number) => string | undefined) =>
    Promise.all(Array.from({ length: 64 }, (_, i) => poll(device_code, keyOf(i), nodes[i % nodes.length])));

  test('each earlier poll adds 5 s to the interval and gets the new interval', async () => {
    const { device_code } = await start();
    await poll(device_code);
    for (const interval of [10, 15, 20]) {
      const { status, body } = await poll(device_code);
      expect([status, body.error, body.interval]).toEqual([400, 'slow_down', interval]);
    }
    expect((await poll((await start()).device_code)).body).not.toHaveProperty('interval');
  });

  test('the interval counts from the last accepted poll, not from a refused one', async () => {
    const { device_code } = await start();
    await poll(device_code);
    app.pass(3);
    expect((await poll(device_code)).body.interval).toBe(10);
    app.pass(3);
    expect((await poll(device_code)).body.interval).toBe(15);
    app.pass(8);
    expect(outcome(await poll(device_code))).toBe(pending);
    app.pass(12);
    expect((await poll(device_code)).body.interval).toBe(20);
    app.pass(7);
    expect(outcome(await poll(device_code))).toBe(pending);
  });

  test('of 64 concurrent polls of a pending code one is accepted and 63 get slow_down', async () => {
    const { device_code, user_code } = await start();
    const answers = await pollAtOnce(device_code, () => undefined);
    expect(countOf(answers, pending)).toBe(1);
    expect(countOf(answers, '400 slow_down')).toBe(63);
    expect(Math.max(...answers.map(({ body }) => body.interval ?? 0))).toBe(5 + 63 * 5);
    await approve(user_code);
    expect(outcome(await poll(device_code))).toBe('200');
  });

  test('64 concurrent polls of an approved code yield one token set', async () => {
    const { device_code, user_code } = await start();
    await approve(user_code);
    const answers = await pollAtOnce(device_code, () => undefined);
    expect([countOf(answers, '200'), countOf(answers, '400 invalid_grant')]).toEqual([1, 63]);
    expect(outcome(await poll(device_code))).toBe('400 invalid_grant');
    const { body } = answers.find(({ status }) => status === 200)!;
    expect((await app.ask('GET', '/me', { token: body.access_token })).status).toBe(200);
  });

  test('64 concurrent polls with one Idempotency-Key all get the same token set', async () => {
    const { device_code, user_code } = await start();
    await approve(user_code);
    const answers = await pollAtOnce(device_code, () => 'key');
    expect(countOf(answers, '200')).toBe(64);
    const sets = answers.map(({ body }) => `${body.access_token} ${body.refresh_token}`);
    expect(new Set(sets).size).toBe(1);
  });

  test('a redeeming poll can be repeated with its Idempotency-Key for 60 s, and not afterwards', async () => {
    const { device_code, user_code } = await start();
    await approve(user_code);
    const first = await poll(device_code, 'key');
    expect(outcome(first)).toBe('200');
    for (const seconds of [0, 30, 25]) {
      app.pass(seconds);
      const again = await poll(device_code, 'key');
      expect([again.body.access_token, again.body.refresh_token]).toEqual([
        first.body.access_token,
        first.body.refresh_token,
      ]);
      for (const other of ['Key', undefined]) {
        expect(outcome(await poll(device_code, other))).toBe('400 invalid_grant');
      }
    }
    app.pass(6);
    expect(outcome(await poll(device_code, 'key'))).toBe('400 invalid_grant');
    const json = { refresh_token: first.body.refresh_token };
    expect(outcome(await app.ask('POST', '/refresh', { json }))).toBe('200');
  });

  test('repeating a redeeming poll does not revive a revoked session', async () => {
    const { device_code, user_code } = await start();
    await approve(user_code);
    const { body } = await poll(device_code, 'key');
    await app.ask('DELETE', '/logout?scope=session', { token: body.access_token });
    expect(outcome(await poll(device_code, 'key'))).toBe('400 invalid_grant');
  });

  test('repeating a redeeming poll after its refresh token was spent gets no tokens', async () => {
    const { device_code, user_code } = await start();
    await approve(user_code);
    const { body } = await poll(device_code, 'key');
    const json = { refresh_token: body.refresh_token };
    const next = (await app.ask('POST', '/refresh', { json })).body;
    expect(outcome(await poll(device_code, 'key'))).toBe('400 invalid_grant');
    expect((await app.ask('GET', '/me', { token: next.access_token })).status).toBe(200);
  });

  test('a poll with an invalid Idempotency-Key is refused and spends nothing', async () => {
    const { device_code, user_code } = await start();
    await approve(user_code);
    for (const key of ['', 'k'.repeat(129), 'a\tb', '\u00e9']) {
      expect(outcome(await poll(device_code, key))).toBe('400 invalid_request');
    }
    expect(outcome(await poll(device_code))).toBe('200');
  });

  test('an early poll still learns the decision of the user', async () => {
    const [one, two] = [await start(), await start()];
    for (const { device_code } of [one, two]) await poll(device_code);
    await approve(one.user_code);
    expect(outcome(await poll(one.device_code))).toBe('200');
    const { access_token: token } = await app.login();
    await app.ask('POST', '/device/deny', { json: { user_code: two.user_code }, token });
    expect(outcome(await poll(two.device_code))).toBe('400 access_denied');
  });

  test('a poll that is on time is one statement, and the statement decides as decidePoll does', async () => {
    const { device_code } = await start();
    const { subject } = readHandle(app.ctx.keys, 'deviceCode', device_code)!;
    const id = authorizationIdOf(subject);
    const before = app.statements.length;
    expect(outcome(await app.ask('POST', '/token', { json: { device_code } }))).toBe(pending);
    expect(app.statements.slice(before)).toHaveLength(1);

    const [polled] = await store.findAuthorization(app.ctx.db.read, { id });
    const { last_poll_at, interval_seconds, expires_at } = polled!;
    const earliest = last_poll_at + interval_seconds * 1000 - earlyPollToleranceMs;
    const moments = [earliest - 1, earliest, expires_at - 1, expires_at].map((now) => ({
      now,
      step: decide(polled!, { now }),
    }));
    expect(moments.map(({ step }) => step)).toEqual(['slow_down', 'accept', 'accept', 'expired_token']);
    for (const { now, step } of moments) {
      await app.ctx.db.single.run(`update device_authorizations set last_poll_at = ${last_poll_at}`, []);
      const poll = { id, now, due_by: now + earlyPollToleranceMs, answered_at: now };
      const accepted = await store.acceptPoll(app.ctx.db.single, poll);
      expect([now, accepted]).toEqual([now, step === 'accept' ? [{ id }] : []]);
    }
  });
});

/** The next step of a poll that repeats no other, or the error that refuses it. */
function decide(authorization: PolledAuthorization, poll: { now: number; idempotencyHash?: string }): string {
  try {
    return decidePoll(authorization, { isHeld: false, idempotencyHash: null, triedHash: null, ...poll });
  } catch (error) {
    return error instanceof AuthError ? error.code : String(error);
  }
}

describe('decidePoll', () => {
  const polled: PolledAuthorization = {
    status: 'pending',
    expires_at: 600_000,
    interval_seconds: 5,
    last_poll_at: 100_000,
    redeemed_at: null,
    idempotency_hash: null,
    confirmation_hash: null,
    confirmation_tried: null,
  };
  const redeemed = { ...polled, status: 'redeemed', redeemed_at: 100_000, idempotency_hash: 'key' } as const;

  test('interval, expiry and retry window hold to the millisecond', () => {
    expect(decide(polled, { now: 103_999 })).toBe('slow_down');
    expect(decide(polled, { now: 104_000 })).toBe('accept');
    expect(decide({ ...polled, interval_seconds: 15 }, { now: 113_999 })).toBe('slow_down');
    expect(decide({ ...polled, interval_seconds: 15 }, { now: 114_000 })).toBe('accept');
    expect(decide(polled, { now: 599_999 })).toBe('accept');
    expect(decide(polled, { now: 600_000 })).toBe('expired_token');
    expect(decide({ ...polled, status: 'approved' }, { now: 599_999 })).toBe('redeem');
    expect(decide({ ...polled, status: 'approved' }, { now: 600_000 })).toBe('expired_token');
    expect(decide(redeemed, { now: 160_000, idempotencyHash: 'key' })).toBe('repeat');
    expect(decide(redeemed, { now: 160_001, idempotencyHash: 'key' })).toBe('invalid_grant');
  });

  test('a redeemed code repeats its response only for the same idempotency key, also after it has expired', () => {
    const now = 120_000;
    expect(decide(redeemed, { now, idempotencyHash: 'other' })).toBe('invalid_grant');
    expect(decide(redeemed, { now })).toBe('invalid_grant');
    expect(decide({ ...redeemed, idempotency_hash: null }, { now })).toBe('invalid_grant');
    expect(decide({ ...redeemed, expires_at: 110_000 }, { now, idempotencyHash: 'key' })).toBe('repeat');
  });
});
