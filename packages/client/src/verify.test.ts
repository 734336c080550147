import { expect, test } from 'bun:test';
import { codeOf } from '#support/client.ts';
import { refuses, responds } from '#support/responses.ts';
import { turns } from '#support/until.ts';
import { createVerifier, type VerifierOptions } from './verify.ts';

/** A verifier of a server with RFC 7662 introspection of the tokens that a test adds. */
function open(options: Partial<VerifierOptions> = {}) {
  const active = new Map<string, { sub: string; exp: number; [member: string]: unknown }>();
  const introspected: string[] = [];
  const service = { now: 1_000_000_000_000, aheadSeconds: 0, failures: 0, meanwhile: () => {} };
  const fetch = async (_: string, { headers, body }: RequestInit) => {
    const token = new URLSearchParams(String(body)).get('token') ?? '';
    introspected.push(token);
    if (new Headers(headers).get('Authorization') !== `Basic ${btoa('svc_a:secret')}`)
      return refuses('invalid_client', 401);
    if (service.failures-- > 0) return refuses('temporarily_unavailable', 503);
    const found = active.get(token);
    await turns(5);
    service.meanwhile();
    const time = new Date(service.now + service.aheadSeconds * 1000);
    return responds(
      found ? { active: true, token_type: 'Bearer', sid: 'ses_a', iat: 0, ...found } : { active: false },
      200,
      service.aheadSeconds === 0 ? {} : { Date: time.toUTCString() },
    );
  };
  const clock = { now: () => service.now, sleep: async () => {} };
  const verifier = createVerifier({ server, serviceKey: 'svc_a:secret', clock, fetch, ...options });
  return {
    ...verifier,
    active,
    introspected,
    service,
    pass: (seconds: number) => {
      service.now += seconds * 1000;
    },
    exp: (seconds: number) => service.now / 1000 + seconds,
  };
}

const server = 'https://login.example';

test('an active token identifies its user, and the result is cached for 5 s from its request on, but not beyond its expiry', async () => {
  const { active, introspected, service, ...verifier } = open();
  active.set('lk_at_long', { sub: 'usr_a', exp: verifier.exp(600) });
  service.meanwhile = () => verifier.pass(2);
  expect(await verifier.verify('lk_at_long')).toMatchObject({ active: true, sub: 'usr_a', sid: 'ses_a' });
  service.meanwhile = () => {};
  active.set('lk_at_short', { sub: 'usr_a', exp: verifier.exp(2) });
  await verifier.verify('lk_at_short');
  verifier.pass(1.9);
  await verifier.verify('lk_at_short');
  await verifier.verify('lk_at_long');
  expect(introspected).toEqual(['lk_at_long', 'lk_at_short']);
  active.clear();
  verifier.pass(0.2);
  expect(await verifier.verify('lk_at_short')).toEqual({ active: false });
  expect(await verifier.verify('lk_at_long')).toMatchObject({ active: true });
  verifier.pass(0.9);
  expect(await verifier.verify('lk_at_long')).toEqual({ active: false });
});

test.each([0, 5])(
  'calls for one token share no request that began %i s ago or before',
  async (cacheSeconds) => {
    const { active, introspected, service, ...verifier } = open({ cacheSeconds });
    active.set('lk_at_a', { sub: 'usr_a', exp: verifier.exp(600) });
    const { promise, resolve } = Promise.withResolvers<unknown>();
    service.meanwhile = () => {
      service.meanwhile = () => {};
      active.clear();
      verifier.pass(cacheSeconds);
      resolve(verifier.verify('lk_at_a'));
    };
    expect((await verifier.verify('lk_at_a')).active).toBe(true);
    expect([await promise, introspected.length]).toEqual([{ active: false }, 2]);
  },
);

test('concurrent calls for one token share a request, and one can be aborted alone', async () => {
  const { active, introspected, ...verifier } = open();
  active.set('lk_at_a', { sub: 'usr_a', exp: verifier.exp(600) });
  const leaving = new AbortController();
  const left = codeOf(verifier.verify('lk_at_a', { signal: leaving.signal }));
  const stayed = Array.from({ length: 20 }, () => verifier.verify('lk_at_a'));
  leaving.abort();
  expect(await left).toBe('aborted');
  for (const answer of await Promise.all(stayed)) expect(answer.active).toBe(true);
  expect(introspected).toHaveLength(1);
});

test('a failure is thrown and not cached; a wrong service key is invalid_client', async () => {
  const { active, service, ...verifier } = open();
  active.set('lk_at_a', { sub: 'usr_a', exp: verifier.exp(600) });
  service.failures = 1;
  expect(await codeOf(verifier.verify('lk_at_a'))).toBe('temporarily_unavailable');
  expect((await verifier.verify('lk_at_a')).active).toBe(true);
  const options = { cacheSeconds: 0, serviceKey: 'svc_a:wrong' };
  expect(await codeOf(open(options).verify('lk_at_a'))).toBe('invalid_client');
  const fetch = () => Promise.reject(new TypeError('lost'));
  expect(await codeOf(open({ fetch }).verify('lk_at_a'))).toBe('unreachable');
});

test('anything but an access token is inactive without a request', async () => {
  const { introspected, verify } = open();
  for (const token of ['', 'ghp_secret', 'lk_rt_a', 'lk_at_', 'lk_at_a b', `lk_at_${'a'.repeat(2000)}`])
    expect(await verify(token)).toEqual({ active: false });
  expect(introspected).toEqual([]);
});

const facts = {
  token_use: 'key',
  scope: 'projects:read organizations',
  aud: 'https://projects.example',
  name: 'Ada',
  email: 'ada@example.com',
  email_verified: true,
  organizations: [{ id: 'org_a', slug: 'acme', role: 'owner' }],
  organizations_truncated: true,
  act: { sub: 'svc_b', act: { sub: 'svc_c' } },
  authorization_details: [{ type: 'deployment', environment: 'staging' }],
  within: ['ses_b', 'ses_c'],
};

test('a key is verified with everything the service says about it; a service that acts for itself has no session; what is neither an access token nor a key is inactive', async () => {
  const { active, ...verifier } = open({ cacheSeconds: 0 });
  const exp = verifier.exp(600);
  const key = { sub: 'usr_a', sid: 'key_a', exp, ...facts };
  active.set('lk_ak_a', key);
  expect(await verifier.verify('lk_ak_a')).toMatchObject({ active: true, ...key });
  active.set('lk_at_a', { sub: 'svc_a', sid: undefined, exp });
  expect(await verifier.verify('lk_at_a')).toMatchObject({ active: true, sub: 'svc_a' });
  for (const token_use of ['refresh_token', 'id_token', '', null, 1]) {
    active.set('lk_at_a', { sub: 'usr_a', exp, token_use });
    expect(await verifier.verify('lk_at_a')).toEqual({ active: false });
  }
});

test('a missing member, or one of another type than documented, is refused, because decisions depend on it', async () => {
  const { active, ...verifier } = open({ cacheSeconds: 0 });
  const wrong = {
    active: [undefined, 'true'],
    sub: [undefined, 7],
    exp: [undefined, 'soon'],
    sid: [undefined, 1],
    scope: [['*'], null, 1],
    aud: [['https://a.example'], null],
    auth_time: ['now', null],
    amr: ['pop', [1]],
    acr: [1],
    name: [1],
    email: [{}],
    email_verified: ['true'],
    organizations: [{}, [null], [{ id: 'org_a', slug: 'acme' }], [{ id: 'org_a', role: 'owner' }]],
    organizations_truncated: ['false'],
    act: ['svc_a', {}, [], { sub: 'svc_a', act: 'svc_b' }],
    authorization_details: [{ type: 'a' }, ['a'], [{}], [{ type: 1 }], null, '[]'],
    within: ['ses_a', [1]],
  };
  for (const [member, values] of Object.entries(wrong)) {
    for (const value of values) {
      active.set('lk_at_a', { sub: 'usr_a', exp: verifier.exp(600), [member]: value });
      expect([member, value, await codeOf(verifier.verify('lk_at_a'))]).toEqual([
        member,
        value,
        'not_latchkey',
      ]);
    }
  }
});

test('the cache keeps at most maxEntries results and drops the least recently used', async () => {
  const { introspected, verify } = open({ maxEntries: 2 });
  for (const token of ['lk_at_a', 'lk_at_b', 'lk_at_a', 'lk_at_c', 'lk_at_a', 'lk_at_b']) await verify(token);
  expect(introspected).toEqual(['lk_at_a', 'lk_at_b', 'lk_at_c', 'lk_at_b']);
});

test('neither setting the clock back nor a clock that is slow extends cached results', async () => {
  const { active, introspected, service, ...verifier } = open();
  active.set('lk_at_a', { sub: 'usr_a', exp: verifier.exp(600) });
  await verifier.verify('lk_at_a');
  verifier.pass(-3600);
  service.aheadSeconds = 3600;
  active.set('lk_at_a', { sub: 'usr_a', exp: verifier.exp(3602) });
  await verifier.verify('lk_at_a');
  verifier.pass(2);
  await verifier.verify('lk_at_a');
  expect(introspected).toHaveLength(3);
});

test('an answer without a time leaves the time of the service as an earlier one told it', async () => {
  let elapsedMs = 0;
  const { service, ...verifier } = open({ monotonic: () => elapsedMs });
  service.aheadSeconds = 3600;
  await verifier.verify('lk_at_a');
  const told = verifier.now();
  service.aheadSeconds = 0;
  elapsedMs = 3_600_000;
  await verifier.verify('lk_at_b');
  expect(verifier.now()).toBe(told + elapsedMs);
});

test('a cache longer than a minute and a service key without a secret are refused', () => {
  expect(() => open({ cacheSeconds: 61 })).toThrow('0-60');
  for (const serviceKey of ['svc_a', undefined as unknown as string])
    expect(() => open({ serviceKey })).toThrow('serviceKey must look like id:secret.');
});

test('an issuer that only a response names is no issuer', async () => {
  const issuerOf = (named: unknown, issuer?: string) =>
    open({
      fetch: async () => responds({ issuer: named }),
      ...(issuer === undefined ? {} : { issuer }),
    }).issuer();
  const inside = 'https://inside.example';
  expect(await issuerOf(server)).toBe(server);
  expect(await issuerOf(inside, inside)).toBe(inside);
  for (const [named, issuer, code] of [
    [inside, undefined, 'wrong_address'],
    [`${server}.evil.example`, undefined, 'wrong_address'],
    ['https://LOGIN.example', undefined, 'wrong_address'],
    [server, inside, 'wrong_address'],
    [undefined, undefined, 'not_latchkey'],
    [[server], undefined, 'not_latchkey'],
  ] as const)
    expect(await codeOf(issuerOf(named, issuer))).toBe(code);
});
