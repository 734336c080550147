// What random sequences of commands (tests/invariants/properties.test.ts) do not ask about a refresh.

import { beforeAll, describe, expect, test } from 'bun:test';
import { isLive, newAddress, outcome } from '#support/account.ts';
import { type Answer, type Ask, openApp } from '#support/app.ts';
import { basic, declareService } from '#support/services.ts';
import { shared } from '#support/shared.ts';
import { classifyReuse, refreshRetryWindowSeconds } from './refresh.ts';

const app = shared(() => openApp('sqlite'));
const [tickets, builds] = ['https://tickets.example/api', 'https://builds.example/api'];
beforeAll(async () => {
  for (const resource of [tickets, builds]) await declareService(app.ctx, { resource });
});

const lastDetail = () => JSON.parse(app.logs.at(-1)!).detail;
const from = (peer: string, userAgent: string, headers = {}): Ask => ({
  peer,
  headers: { 'User-Agent': userAgent, ...headers },
});
const client = from('192.0.2.1', 'oauth-client/1.2');
const withKey = (key: string) => from('192.0.2.1', 'oauth-client/1.2', { 'Idempotency-Key': key });

type Send = (refresh_token: string) => Promise<Answer>;
const form =
  (ask = client, members: Record<string, string> = {}, path = '/token'): Send =>
  (refresh_token) =>
    app.ask('POST', path, { ...ask, form: { grant_type: 'refresh_token', refresh_token, ...members } });
const json =
  (ask = client, members: Record<string, string> = {}): Send =>
  (refresh_token) =>
    app.ask('POST', '/refresh', { ...ask, json: { refresh_token, ...members } });
const asService = (authorization: string): Send =>
  form(from('192.0.2.1', 'oauth-client/1.2', { Authorization: authorization }));

describe('a refresh', () => {
  const signIn = async () => (await app.login(newAddress())).refresh_token;

  test('has an idempotency key of 1-128 printable characters; any other is refused and spends nothing', async () => {
    let token = await signIn();
    const refresh = (key: string) => json(withKey(key))(token);
    for (const key of ['', '   ', 'k'.repeat(129), 'cl\u00e9', 'a\tb', 'a\u007fb'])
      expect([key, outcome(await refresh(key))]).toEqual([key, '400 invalid_request']);
    for (const key of ['k', 'k'.repeat(128), '!"#$%&\'()*+,-./09:;<=>?@AZ[\\]^_`az{|} ~']) {
      const first = await refresh(key);
      expect([key, outcome(first)]).toEqual([key, '200']);
      expect((await refresh(key)).body.refresh_token).toBe(first.body.refresh_token);
      token = first.body.refresh_token;
    }
  });

  test('with authorization details, or with another scope or resource than its own, is refused and spends nothing, first or repeated; a stolen token still counts as one', async () => {
    const owner = await app.login(newAddress());
    const { refresh_token: token } = await app.deviceLogin(owner, { scope: 'profile', resource: tickets });
    const kept = withKey('kept');
    const details = { authorization_details: '[{"type":"a"}]' };
    const successors: string[] = [];
    for (let times = 0; times < 2; times++) {
      for (const [send, error] of [
        [form(client, details), 'invalid_request'],
        [form(client, details, '/refresh'), 'invalid_request'],
        [json(kept, details), 'invalid_request'],
        [json(kept, { scope: '*' }), 'invalid_scope'],
        [json(kept, { resource: builds }), 'invalid_target'],
      ] as const)
        expect(outcome(await send(token))).toBe(`400 ${error}`);
      successors.push((await json(kept, { scope: 'profile' })(token)).body.refresh_token);
    }
    expect(successors[1]).toBe(successors[0]!);
    app.pass(11);
    for (const [members, spent, detail] of [
      [{ scope: '*' }, token, 'theft'],
      [{}, successors[0]!, 'ended'],
    ] as const)
      expect([outcome(await json(client, members)(spent)), lastDetail()]).toEqual([
        '400 invalid_grant',
        detail,
      ]);
  });

  // As OAuth clients send it.
  test('by a form without an Idempotency-Key, only the same client, in the same way, gets the same successor within the leeway', async () => {
    const [charts, other] = [await declareService(app.ctx), await declareService(app.ctx)];
    const { id: client_id, secret: client_secret, authorization } = charts;
    const wrong = basic(`${client_id}:wrong`);
    const named = (client_id: string) => form(client, { client_id });
    const cases: [string, Send, Send, 'retry' | 'race' | 'theft'][] = [
      ['same', form(), form(), 'retry'],
      ['the other endpoint', form(), form(client, {}, '/refresh'), 'retry'],
      ['an update in the same network', form(), form(from('192.0.2.250', 'oauth-client/2.0')), 'retry'],
      ['its client_id again', named('x'), named('x'), 'retry'],
      ['its key in the form', asService(authorization), form(client, { client_id, client_secret }), 'retry'],
      ['another program', form(), form(from('192.0.2.1', 'curl/8.0')), 'race'],
      ['another network', form(), form(from('192.0.3.1', 'oauth-client/1.2')), 'race'],
      ['another client_id', named('x'), named('y'), 'race'],
      ['no client_id', named('x'), form(), 'race'],
      ['a new client_id', form(), named('x'), 'race'],
      ['another service', asService(authorization), asService(other.authorization), 'race'],
      ['a wrong service key', asService(authorization), asService(wrong), 'race'],
      ['no service key', asService(authorization), named(client_id), 'race'],
      ['JSON after a form', form(), json(), 'race'],
      ['a form after JSON', json(), form(), 'race'],
      ['JSON after JSON', json(), json(), 'race'],
      ['a key after none', form(), form(withKey('key')), 'race'],
      ['none after a key', form(withKey('key')), form(), 'race'],
      ['the same after the leeway', form(), form(), 'theft'],
    ];
    for (const [name, first, second, detail] of cases) {
      const token = await signIn();
      const { body } = await first(token);
      app.pass(detail === 'theft' ? 11 : 9);
      const again = await second(token);
      const expected = detail === 'retry' ? '200' : '400 invalid_grant';
      expect([name, outcome(again), lastDetail()]).toEqual([name, expected, detail]);
      if (detail === 'retry') expect([name, again.body.refresh_token]).toEqual([name, body.refresh_token]);
      expect([name, await isLive(app, body)]).toEqual([name, detail !== 'theft']);
    }
  });
});

// The state of the session: tests/invariants/properties.test.ts.
describe('classifyReuse', () => {
  const rotatedAt = 1_000_000;
  const session = {
    generation: 5,
    rotated_at: rotatedAt,
    idempotency_hash: 'same',
    session_epoch: 0,
    user_epoch: 0,
    revoked_at: null,
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
    ['after the end of what a run is within', [1, null, 0, 10, { path_ends_at: rotatedAt }], 'ended'],
  ])('reuse %s', (_, reuse, expected) => {
    expect(classify(...reuse)).toBe(expected);
  });
});
