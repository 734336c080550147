// What random sequences of commands (tests/invariants/properties.test.ts) do not ask about a refresh.

import { describe, expect, test } from 'bun:test';
import { isLive, newAddress, outcome } from '../../../../tests/support/account.ts';
import { type Answer, onBothDatabases, sharedNodes, type TestApp } from '../../../../tests/support/app.ts';
import { classifyReuse, refreshRetryWindowSeconds } from './refresh.ts';

const refresh = (app: TestApp, refresh_token: string, key?: string): Promise<Answer> =>
  app.ask('POST', '/refresh', {
    json: { refresh_token },
    headers: key === undefined ? {} : { 'Idempotency-Key': key },
  });

onBothDatabases('refresh', (open, dialect) => {
  const { app, node } = sharedNodes(open, dialect);

  test('a stale and a current refresh token presented in parallel leave no active session', async () => {
    const first = await app.login(newAddress());
    const second = (await refresh(app, first.refresh_token)).body;
    const third = (await refresh(app, second.refresh_token)).body;
    const answers = await Promise.all([
      refresh(app, third.refresh_token),
      refresh(node, first.refresh_token),
    ]);
    expect(outcome(answers[1])).toBe('400 invalid_grant');
    expect(await isLive(app, third)).toBe(false);
    if (answers[0].status === 200)
      expect(outcome(await refresh(app, answers[0].body.refresh_token))).toBe('400 invalid_grant');
  });

  test.each([
    ['empty', ''],
    ['blank', '   '],
    ['129 characters long', 'k'.repeat(129)],
    ['not ASCII', 'cl\u00e9'],
    ['not printable', 'a\tb'],
    ['a control character', 'a\u007fb'],
  ])('a refresh whose idempotency key is %s is refused and spends nothing', async (_, key) => {
    const { refresh_token } = await app.login(newAddress());
    expect(outcome(await refresh(app, refresh_token, key))).toBe('400 invalid_request');
    expect(outcome(await refresh(app, refresh_token))).toBe('200');
  });

  test.each([
    ['one character', 'k'],
    ['128 characters', 'k'.repeat(128)],
    ['every printable character', '!"#$%&\'()*+,-./09:;<=>?@AZ[\\]^_`az{|} ~'],
  ])('a refresh accepts an idempotency key of %s', async (_, key) => {
    const { refresh_token } = await app.login(newAddress());
    const first = await refresh(app, refresh_token, key);
    expect(outcome(first)).toBe('200');
    expect((await refresh(app, refresh_token, key)).body.refresh_token).toBe(first.body.refresh_token);
  });
});

describe('classifyReuse', () => {
  const rotatedAt = 1_000_000;
  const session = {
    generation: 5,
    rotated_at: rotatedAt,
    idempotency_hash: 'same',
    session_epoch: 0,
    user_epoch: 0 as number | null,
    revoked_at: null as number | null,
    idle_expires_at: Number.MAX_SAFE_INTEGER,
    path_ends_at: null as number | null,
  };
  const classify = (generation: number, key: string | null, ageMs: number, leeway = 10, changes = {}) =>
    classifyReuse(
      { generation, idempotencyHash: key, repeatableSeconds: refreshRetryWindowSeconds },
      { ...session, ...changes },
      rotatedAt + ageMs,
      leeway,
    );
  const retryMs = refreshRetryWindowSeconds * 1000;

  test('the leeway and the retry window are exact to the millisecond', () => {
    expect(classify(4, null, 10_000)).toBe('race');
    expect(classify(4, null, 10_001)).toBe('theft');
    expect(classify(4, 'other', 10_000)).toBe('race');
    expect(classify(4, 'other', 10_001)).toBe('theft');
    expect(refreshRetryWindowSeconds).toBe(600);
    expect(classify(4, 'same', retryMs)).toBe('retry');
    expect(classify(4, 'same', retryMs + 1)).toBe('theft');
  });

  test('with a leeway of 0, reuse can be a retry but not a race', () => {
    expect(classify(4, null, 0, 0)).toBe('theft');
    expect(classify(4, 'other', 0, 0)).toBe('theft');
    expect(classify(4, 'same', 0, 0)).toBe('retry');
  });

  test('a request from a node whose clock is behind counts as early, not as late', () => {
    expect(classify(4, null, -2_000)).toBe('race');
    expect(classify(4, 'same', -2_000)).toBe('retry');
  });

  test('a token older than the one spent last counts as stolen, even with the idempotency key of the last request', () => {
    expect(classify(3, 'same', 0)).toBe('theft');
    expect(classify(1, null, 0)).toBe('theft');
  });

  test('two requests without an idempotency key are never a retry', () => {
    expect(classify(4, null, 60_000, 10, { idempotency_hash: null })).toBe('theft');
  });

  test('reuse in an ended session is not a theft, and a disabled account has a status of its own', () => {
    expect(classify(1, null, 0, 10, { revoked_at: 1 })).toBe('ended');
    expect(classify(1, null, 0, 10, { user_epoch: 1 })).toBe('ended');
    expect(classify(1, null, 0, 10, { idle_expires_at: rotatedAt })).toBe('ended');
    expect(classify(1, null, 0, 10, { path_ends_at: rotatedAt })).toBe('ended');
    expect(classify(4, 'same', 0, 10, { user_epoch: null })).toBe('disabled');
  });
});
