// What random sequences of commands (tests/invariants/properties.test.ts) do not ask of a poll.

import { expect, test } from 'bun:test';
import { outcome } from '#support/account.ts';
import { onBothDatabases } from '#support/app.ts';
import { pollDevice, startDevice } from '#support/devices.ts';
import { shared } from '#support/shared.ts';
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

  test('a poll that is on time is one statement, and the statement decides as decidePoll does', async () => {
    const codes = await startDevice(app);
    const id = authorizationIdOf(readHandle(app.ctx.keys, 'deviceCode', codes.device_code)!.subject);
    const before = app.statements.length;
    expect(outcome(await pollDevice(app, codes))).toBe('400 authorization_pending');
    expect(app.statements.slice(before)).toHaveLength(1);

    const [polled] = await store.findAuthorization(app.ctx.db.read, { id });
    const { last_poll_at, interval_seconds, expires_at } = polled!;
    const earliest = last_poll_at + interval_seconds * 1000 - earlyPollToleranceMs;
    for (const [now, step] of [
      [earliest - 1, 'slow_down'],
      [earliest, 'accept'],
      [expires_at - 1, 'accept'],
      [expires_at, 'expired_token'],
    ] as const) {
      expect(decide(polled!, now, null)).toBe(step);
      await app.ctx.db.single.run(`update device_authorizations set last_poll_at = ${last_poll_at}`, []);
      const poll = { id, now, due_by: now + earlyPollToleranceMs, answered_at: now };
      const accepted = await store.acceptPoll(app.ctx.db.single, poll);
      expect([now, accepted]).toEqual([now, step === 'accept' ? [{ id }] : []]);
    }
  });
});

/** The next step of a poll that repeats no other, or the error that refuses it. */
function decide(authorization: PolledAuthorization, now: number, idempotencyHash: string | null): string {
  try {
    return decidePoll(authorization, { now, isHeld: false, idempotencyHash, triedHash: null });
  } catch (error) {
    return error instanceof AuthError ? error.code : String(error);
  }
}

const pending: PolledAuthorization = {
  status: 'pending',
  expires_at: 600_000,
  interval_seconds: 5,
  last_poll_at: 100_000,
  redeemed_at: null,
  idempotency_hash: null,
  confirmation_hash: null,
  confirmation_tried: null,
};
const slowed = { ...pending, interval_seconds: 15 };
const approved = { ...pending, status: 'approved' } as const;
const denied = { ...pending, status: 'denied' } as const;
const redeemed = { ...pending, status: 'redeemed', redeemed_at: 100_000, idempotency_hash: 'key' } as const;

// A code that still waits for a decision is above.
test.each<[string, PolledAuthorization, number, key: string | null, string]>([
  ['before a grown interval', slowed, 113_999, null, 'slow_down'],
  ['after a grown interval', slowed, 114_000, null, 'accept'],
  ['of an approved code, however early', approved, 100_001, null, 'redeem'],
  ['of an approved code, to its end', approved, 599_999, null, 'redeem'],
  ['of an approved code that expires', approved, 600_000, null, 'expired_token'],
  ['of a denied code, however early', denied, 100_001, null, 'access_denied'],
  ['repeated within the window', redeemed, 160_000, 'key', 'repeat'],
  ['repeated after it', redeemed, 160_001, 'key', 'invalid_grant'],
  ['repeated with another key', redeemed, 120_000, 'other', 'invalid_grant'],
  ['repeated without a key', redeemed, 120_000, null, 'invalid_grant'],
  ['without a key, twice', { ...redeemed, idempotency_hash: null }, 120_000, null, 'invalid_grant'],
  ['repeated after the code has expired', { ...redeemed, expires_at: 110_000 }, 120_000, 'key', 'repeat'],
])('decidePoll: a poll %s', (_, authorization, now, idempotencyHash, step) => {
  expect(decide(authorization, now, idempotencyHash)).toBe(step);
});
