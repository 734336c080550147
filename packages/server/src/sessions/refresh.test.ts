import { describe, expect, test } from 'bun:test';
import { outcome } from '../../../../tests/support/account.ts';
import {
  type Answer,
  onBothDatabases,
  sharedNodes,
  type TestApp,
  type Tokens,
} from '../../../../tests/support/app.ts';
import { classifyReuse, refreshRetryWindowSeconds } from './refresh.ts';

const settings = { LATCHKEY_RATE_LIMITS: 'off' };
let people = 0;
const someone = () => `person-${people++}@example.com`;

const refresh = (app: TestApp, refresh_token: string): Promise<Answer> =>
  app.ask('POST', '/refresh', { json: { refresh_token } });
const statusOf = async (app: TestApp, { access_token }: Tokens) =>
  (await app.ask('GET', '/me', { token: access_token })).status;

/** The logged details of the requests since `from`, in the order of their responses. */
const details = (app: TestApp, from: number): (string | undefined)[] =>
  app.logs.slice(from).map((line) => JSON.parse(line).detail);
const count = <T>(values: readonly T[], value: T) => values.filter((one) => one === value).length;

async function thefts(app: TestApp, sessionId: string): Promise<number> {
  const rows = await app.ctx.db.read.run<{ type: string; session_id: string }>('SELECT * FROM events', []);
  return rows.filter((row) => row.type === 'refresh_theft' && row.session_id === sessionId).length;
}
async function sessionIdOf(app: TestApp, { access_token }: Tokens): Promise<string> {
  const { body } = await app.ask('GET', '/sessions', { token: access_token });
  return body.sessions.find((session: { current: boolean }) => session.current).id;
}

onBothDatabases('refresh', (open, dialect) => {
  const { app, node } = sharedNodes(open, dialect, { settings });
  const nodes = [...new Set([app, node])];

  const together = (times: number, refresh_token: string): Promise<Answer[]> =>
    Promise.all(Array.from({ length: times }, (_, i) => refresh(nodes[i % nodes.length]!, refresh_token)));

  test('a refresh token is spent for new tokens that are valid', async () => {
    const first = await app.login(someone());
    const answer = await refresh(app, first.refresh_token);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      access_token: expect.stringMatching(/^lk_at_/),
      token_type: 'Bearer',
      expires_in: 14_400,
      refresh_token: expect.stringMatching(/^lk_rt_/),
    });
    expect(answer.body.refresh_token).not.toBe(first.refresh_token);
    expect(await statusOf(app, answer.body)).toBe(200);
    expect(await sessionIdOf(app, answer.body)).toBe(await sessionIdOf(app, first));
    expect((await refresh(app, answer.body.refresh_token)).status).toBe(200);
  });

  test('of 64 parallel requests with one refresh token exactly one gets a successor, and the session stays active', async () => {
    const tokens = await app.login(someone());
    const from = nodes.map((node) => node.logs.length);
    const answers = await together(64, tokens.refresh_token);
    const winners = answers.filter(({ status }) => status === 200);
    expect(winners.length).toBe(1);
    expect(count(answers.map(outcome), '400 invalid_grant')).toBe(63);
    const logged = nodes.flatMap((node, i) => details(node, from[i]!));
    expect([count(logged, 'rotated'), count(logged, 'race')]).toEqual([1, 63]);
    expect(await statusOf(app, winners[0]!.body)).toBe(200);
    expect((await refresh(app, winners[0]!.body.refresh_token)).status).toBe(200);
    expect(await thefts(app, await sessionIdOf(app, tokens))).toBe(0);
  });

  test('the refresh token spent last, presented after the leeway, revokes only its own session', async () => {
    const email = someone();
    const stolen = await app.login(email);
    const other = await app.login(email);
    const device = await app.deviceLogin(other);
    const id = await sessionIdOf(app, stolen);
    const successor = (await refresh(app, stolen.refresh_token)).body;
    app.pass(11);
    const from = app.logs.length;
    expect(outcome(await refresh(app, stolen.refresh_token))).toBe('400 invalid_grant');
    expect(details(app, from)).toEqual(['theft']);
    expect(await statusOf(app, stolen)).toBe(401);
    expect(await statusOf(app, successor)).toBe(401);
    expect(outcome(await refresh(app, successor.refresh_token))).toBe('400 invalid_grant');
    expect([await statusOf(app, other), await statusOf(app, device)]).toEqual([200, 200]);
    expect((await refresh(app, other.refresh_token)).status).toBe(200);
    expect((await refresh(app, device.refresh_token)).status).toBe(200);
    expect(await thefts(app, id)).toBe(1);
  });

  test('a theft is recorded once, however often the stolen refresh token is presented', async () => {
    const tokens = await app.login(someone());
    const id = await sessionIdOf(app, tokens);
    await refresh(app, tokens.refresh_token);
    app.pass(11);
    const answers = await together(64, tokens.refresh_token);
    expect(count(answers.map(outcome), '400 invalid_grant')).toBe(64);
    expect(outcome(await refresh(app, tokens.refresh_token))).toBe('400 invalid_grant');
    expect(await thefts(app, id)).toBe(1);
  });

  test('a stale and a current refresh token presented in parallel leave no active session', async () => {
    const first = await app.login(someone());
    const second = (await refresh(app, first.refresh_token)).body;
    const third = (await refresh(app, second.refresh_token)).body;
    const answers = await Promise.all([
      refresh(nodes[0]!, third.refresh_token),
      refresh(nodes.at(-1)!, first.refresh_token),
    ]);
    expect(outcome(answers[1])).toBe('400 invalid_grant');
    expect(await statusOf(app, third)).toBe(401);
    if (answers[0].status === 200) {
      expect(outcome(await refresh(app, answers[0].body.refresh_token))).toBe('400 invalid_grant');
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
