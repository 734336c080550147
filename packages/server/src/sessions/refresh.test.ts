// What random sequences of commands (tests/invariants/properties.test.ts) do not ask about a refresh.

import { describe, expect, test } from 'bun:test';
import { newAddress, outcome } from '#support/account.ts';
import { type Answer, onBothDatabases, type TestApp } from '#support/app.ts';
import { shared } from '#support/shared.ts';
import { classifyReuse, refreshRetryWindowSeconds } from './refresh.ts';

const refresh = (app: TestApp, refresh_token: string, key?: string): Promise<Answer> =>
  app.ask('POST', '/refresh', {
    json: { refresh_token },
    headers: key === undefined ? {} : { 'Idempotency-Key': key },
  });

onBothDatabases('refresh', (open) => {
  const app = shared(open);

  test('an idempotency key is 1-128 printable characters; any other is refused and spends nothing', async () => {
    const { refresh_token } = await app.login(newAddress());
    for (const key of ['', '   ', 'k'.repeat(129), 'cl\u00e9', 'a\tb', 'a\u007fb'])
      expect([key, outcome(await refresh(app, refresh_token, key))]).toEqual([key, '400 invalid_request']);
    let token = refresh_token;
    for (const key of ['k', 'k'.repeat(128), '!"#$%&\'()*+,-./09:;<=>?@AZ[\\]^_`az{|} ~']) {
      const first = await refresh(app, token, key);
      expect([key, outcome(first)]).toEqual([key, '200']);
      expect((await refresh(app, token, key)).body.refresh_token).toBe(first.body.refresh_token);
      token = first.body.refresh_token;
    }
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
  const retryMs = 600_000;
  const noKey = { idempotency_hash: null };

  test.each<[what: string, Parameters<typeof classify>, expected: ReturnType<typeof classifyReuse>]>([
    ['within the leeway', [4, null, 10_000], 'race'],
    ['after the leeway', [4, null, 10_001], 'theft'],
    ['with another key within the leeway', [4, 'other', 10_000], 'race'],
    ['with another key after the leeway', [4, 'other', 10_001], 'theft'],
    ['with the same key in the retry window', [4, 'same', retryMs], 'retry'],
    ['with the same key after the retry window', [4, 'same', retryMs + 1], 'theft'],
    ['without a key, as the first request', [4, null, 60_000, 10, noKey], 'theft'],
    ['without a leeway', [4, null, 0, 0], 'theft'],
    ['with another key without a leeway', [4, 'other', 0, 0], 'theft'],
    ['with the same key without a leeway', [4, 'same', 0, 0], 'retry'],
    ['at a node whose clock is behind', [4, null, -2_000], 'race'],
    ['with the same key at a node whose clock is behind', [4, 'same', -2_000], 'retry'],
    ['of a token older than the one spent last', [3, 'same', 0], 'theft'],
    ['of a much older token', [1, null, 0], 'theft'],
    ['in a revoked session', [1, null, 0, 10, { revoked_at: 1 }], 'ended'],
    ['after all sessions were revoked', [1, null, 0, 10, { user_epoch: 1 }], 'ended'],
    ['after the idle timeout', [1, null, 0, 10, { idle_expires_at: rotatedAt }], 'ended'],
    ['after the end of what a run is within', [1, null, 0, 10, { path_ends_at: rotatedAt }], 'ended'],
    ['in a disabled account', [4, 'same', 0, 10, { user_epoch: null }], 'disabled'],
  ])('reuse %s', (_, reuse, expected) => {
    expect(classify(...reuse)).toBe(expected);
  });
});
