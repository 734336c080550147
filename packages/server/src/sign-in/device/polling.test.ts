// What random sequences of commands (tests/invariants/properties.test.ts) do not ask of a poll.

import { describe, expect, test } from 'bun:test';
import { outcome } from '../../../../../tests/support/account.ts';
import { onBothDatabases } from '../../../../../tests/support/app.ts';
import { shared } from '../../../../../tests/support/shared.ts';
import { readHandle } from '../../platform/crypto/handle.ts';
import { AuthError } from '../../platform/errors.ts';
import {
  authorizationIdOf,
  decidePoll,
  earlyPollToleranceMs,
  type PolledAuthorization,
} from './redeeming.ts';
import * as store from './store.ts';

onBothDatabases('polling with a device code', (open) => {
  const app = shared(open);

  test('a poll with an invalid Idempotency-Key is refused and spends nothing', async () => {
    const { device_code, user_code } = (await app.ask('POST', '/device')).body;
    const { access_token: token } = await app.login();
    await app.ask('POST', '/device/approve', { json: { user_code }, token });
    const json = { device_code };
    for (const key of ['', 'k'.repeat(129), 'a\tb', '\u00e9']) {
      const refused = await app.ask('POST', '/token', { json, headers: { 'Idempotency-Key': key } });
      expect(outcome(refused)).toBe('400 invalid_request');
    }
    expect(outcome(await app.ask('POST', '/token', { json }))).toBe('200');
  });

  test('a poll that is on time is one statement, and the statement decides as decidePoll does', async () => {
    const { device_code } = (await app.ask('POST', '/device')).body;
    const { subject } = readHandle(app.ctx.keys, 'deviceCode', device_code)!;
    const id = authorizationIdOf(subject);
    const before = app.statements.length;
    const answer = await app.ask('POST', '/token', { json: { device_code } });
    expect(outcome(answer)).toBe('400 authorization_pending');
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
    expect(decide({ ...polled, status: 'approved' }, { now: 100_001 })).toBe('redeem');
    expect(decide({ ...polled, status: 'denied' }, { now: 100_001 })).toBe('access_denied');
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
