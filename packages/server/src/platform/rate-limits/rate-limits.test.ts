// Each rate limit: its exact quota, its window and what counts.

import { beforeEach, expect, test } from 'bun:test';
import { formatCode } from '@latchkey/contract/codes';
import { addPasskey, newAddress, newAuthenticator, newPeer, outcome, tokenIn } from '#support/account.ts';
import { type Answer, type Ask, onBothDatabases, openApp, type Tokens } from '#support/app.ts';
import { wantedKey } from '#support/keys.ts';
import { loggedEvents } from '#support/security-log.ts';
import { shared } from '#support/shared.ts';
import { rateLimitRules } from '../../settings.ts';
import { randomUserCode } from '../crypto/codes.ts';
import { systemRandom } from '../crypto/primitives.ts';
import { createRateLimiter, maxKeysInMemory, memoryCounter, type RateLimitName } from './limiter.ts';

const settings = { LATCHKEY_RATE_LIMITS: 'on' };

/** The same recipient, in one of three spellings. */
const spelling = (email: string, n: number) =>
  [email, email.toUpperCase(), email.replace('@', `+${n}@`)][n % 3]!;
const wrongCode = () => formatCode(randomUserCode(systemRandom));

function expectRefused(answer: Answer, limit: RateLimitName): void {
  const { quota, windowSeconds } = rateLimitRules[limit];
  expect(outcome(answer)).toBe('429 rate_limited');
  const retryAfter = Number(answer.headers.get('Retry-After'));
  expect(retryAfter).toBeWithin(1, windowSeconds + 1);
  expect(answer.headers.get('RateLimit')).toBe(`"${limit}";r=0;t=${retryAfter}`);
  expect(answer.headers.get('RateLimit-Policy')).toBe(`"${limit}";q=${quota};w=${windowSeconds}`);
}

onBothDatabases('limits', (open, dialect) => {
  const t = shared(() => open({ settings }));
  let ada: Tokens;

  beforeEach(async () => {
    ada = await loginOf(newAddress());
  });

  async function loginOf(email: string): Promise<Tokens> {
    const peer = newPeer();
    await t.ask('POST', '/magic_link', { json: { email }, peer });
    const mail = (await t.mails()).find(({ to }) => to === email);
    return (await t.ask('POST', '/magic_link/verify', { json: { token: mail!.token }, peer })).body;
  }
  /** Expects as many requests as the quota to pass, the next one to be refused, and one after the window to pass again. */
  async function expectLimit(limit: RateLimitName, one: (index: number) => Promise<Answer>): Promise<void> {
    const { quota, windowSeconds } = rateLimitRules[limit];
    for (let index = 0; index < quota; index++) expect((await one(index)).status).not.toBe(429);
    expectRefused(await one(quota), limit);
    t.pass(windowSeconds - 10);
    expectRefused(await one(quota + 1), limit);
    t.pass(11);
    expect((await one(quota + 2)).status).not.toBe(429);
  }

  const magicLink = (email: string, peer: string) => t.ask('POST', '/magic_link', { json: { email }, peer });
  const guess = (path: string, ask: Ask, user_code = wrongCode()) =>
    t.ask('POST', `/device/${path}`, { json: { user_code }, ...ask });

  const mailTo = async (email: string) => (await t.mails()).find(({ to, token }) => to === email && token)!;

  test('correct user codes neither count nor reset the count; malformed codes count as wrong; a refusal is in the security log', async () => {
    const peer = newPeer();
    const { user_code } = (await t.ask('POST', '/device', { peer })).body;
    const ask = { token: ada.access_token, peer };
    for (let index = 0; index < 9; index++) {
      const wrong = index % 2 ? 'no code' : wrongCode();
      expect(outcome(await guess('verify', ask, wrong))).toBe('400 invalid_grant');
      for (let right = 0; right < 3; right++)
        expect(outcome(await guess('verify', ask, user_code))).toBe('200');
    }
    expect(outcome(await guess('approve', ask, user_code))).toBe('204');
    expect(outcome(await guess('verify', ask, user_code))).toBe('400 invalid_grant');
    expectRefused(await guess('verify', ask), 'user_codes_by_user');
    // A refused request must not reveal whether the code is correct.
    const fresh = (await t.ask('POST', '/device', { peer })).body.user_code;
    expectRefused(await guess('verify', ask, fresh), 'user_codes_by_user');
    const reached = { ip_address: peer, session_id: expect.stringMatching(/^ses_/) };
    expect(await loggedEvents(t, ada, 'limit_reached')).toMatchObject([
      { ...reached, detail: { limit: 'user_codes_by_user' } },
    ]);
  });

  test('a correct code that completes after its window does not change the next window', async () => {
    const counter = { limit: 'user_codes_by_user', subject: newAddress() } as const;
    const late = await t.ctx.limiter.take(counter);
    t.pass(601);
    await t.ctx.limiter.take(counter);
    await late.refund();
    for (let index = 1; index < 10; index++) await t.ctx.limiter.take(counter);
    await expect(t.ctx.limiter.take(counter)).rejects.toMatchObject({ code: 'rate_limited' });
  });

  test('invalid changes of an account do not count, and of 80 parallel ones exactly 60 pass', async () => {
    const ask = { token: ada.access_token, peer: newPeer() };
    const json = { name: 'x' };
    const refused: [string, string, Ask, string][] = [
      ['PATCH', '/me', { json: { name: '' } }, '400 invalid_request'],
      ['PATCH', '/me', { json, headers: { 'If-Match': '"stale"' } }, '412 precondition_failed'],
      ['PATCH', '/passkeys/pk_none', { json }, '404 not_found'],
      ['PATCH', '/passkeys/pk_AAAAAAAAAAAAAAAAAAAAAA', { json }, '404 not_found'],
      ['POST', '/keys', { json: { ...wantedKey, scope: 'unknown' } }, '400 invalid_scope'],
      ['DELETE', '/keys/key_AAAAAAAAAAAAAAAAAAAAAA', {}, '404 not_found'],
    ];
    for (const [method, path, wrong, expected] of Array<typeof refused>(20).fill(refused).flat())
      expect(outcome(await t.ask(method, path, { ...ask, ...wrong }))).toBe(expected);
    const change = (_: unknown, n: number) => t.ask('PATCH', '/me', { ...ask, json: { name: `n${n}` } });
    const outcomes = (await Promise.all(Array.from({ length: 80 }, change))).map(outcome);
    const of = (one: string) => outcomes.filter((other) => other === one).length;
    expect([of('200'), of('429 rate_limited')]).toEqual([60, 20]);
  });

  test('stored counts contain no address, account or code, and a sweep deletes ended ones', async () => {
    await magicLink('nobody-knows@example.com', '203.0.113.77');
    const keys = async () => await t.ctx.db.read.run<{ key: string }>('SELECT key FROM rate_limits', []);
    expect((await keys()).length > 0).toBe(dialect === 'postgres');
    for (const { key } of await keys()) expect(key).toMatch(/^[a-z_]+:[\w-]{22}$/);
    t.pass(3600 + 3600 + 1);
    await t.sweep();
    expect(await keys()).toEqual([]);
  });

  // The other quotas are counted by the same statement.
  if (dialect === 'postgres') return;

  type One = (index: number) => Promise<Answer>;
  type Subject = { email: string; peer: string; login: Tokens };

  /** The requests that count against a limit, by it and what it counts. */
  const counted: Record<`${RateLimitName}: ${string}`, (of: Subject) => One | Promise<One>> = {
    'mails_by_pair: mails for each recipient, however spelled, and client network':
      ({ email, peer }) =>
      (index) =>
        magicLink(
          spelling(email, index),
          `${index % 3 ? '' : '::ffff:'}${peer.replace(/\.1$/, `.${index + 1}`)}`,
        ),
    'mails_by_recipient: mails for each recipient, however spelled, from all clients together':
      ({ email }) =>
      (index) =>
        magicLink(spelling(email, index), newPeer()),
    'mails_by_client: mails for each client network of IPv6, to all recipients together': () => (index) =>
      magicLink(newAddress(), `2001:db8:0:1::${index.toString(16)}`),
    'user_codes_by_user: wrong user codes for each user, at verify, approve and deny together':
      ({ login: { access_token: token } }) =>
      (index) =>
        guess(['verify', 'approve', 'deny'][index % 3]!, { token, peer: newPeer() }),
    'user_codes_by_client: wrong user codes for each client address, of all users together': async ({
      peer,
    }) => {
      const tokens: string[] = [];
      while (tokens.length < 5) tokens.push((await loginOf(newAddress())).access_token);
      return (index) => guess('verify', { token: tokens[index % 5]!, peer });
    },
    'email_codes_by_client: wrong email codes for each client address, but no correct ones': async ({
      email,
      peer,
    }) => {
      const verify = (json: object) => t.ask('POST', '/magic_link/verify', { json, peer });
      const requestOf = async (to: string) => (await magicLink(to, newPeer())).body.request;
      const requests: string[] = [];
      for (let n = 0; n < 9; n++) requests.push(await requestOf(newAddress()));
      const request = await requestOf(email);
      expect(outcome(await verify({ request, code: (await mailTo(email)).code }))).toBe('200');
      return (index) => verify({ request: requests[index % 9], code: '0000-0000' });
    },
    'link_logins: magic links for each client address, and links of an email change, but no forged ones':
      async ({ email, peer }) => {
        const { access_token: token } = await loginOf(newAddress());
        await t.ask('POST', '/me/email', { json: { email: newAddress() }, token });
        const change = tokenIn((await t.mails()).find(({ text }) => text.includes('lk_ec_')));
        await magicLink(email, newPeer());
        const { token: link } = await mailTo(email);
        const follow = (of: string, json: object) => t.ask('POST', of, { json, peer });
        const verify = '/magic_link/verify';
        const confirm = '/me/email/verify';
        for (let n = 0; n < 100; n++) {
          expect(outcome(await follow(verify, { token: `${link}x` }))).toBe('400 invalid_grant');
          expect(outcome(await follow(confirm, { token: `${change}x` }))).toBe('400 invalid_grant');
        }
        return (index) => (index % 2 ? follow(verify, { token: link }) : follow(confirm, { token: change }));
      },
    'device_authorizations: device logins for each client address, as JSON and form together':
      ({ peer }) =>
      (index) =>
        t.ask('POST', '/device', index % 2 ? { peer } : { peer, form: { client_id: 'x' } }),
    'device_polls: polls for each device code': async () => {
      const { device_code } = (await t.ask('POST', '/device', { peer: newPeer() })).body;
      return () => t.ask('POST', '/token', { json: { device_code }, peer: newPeer() });
    },
    'passkey_challenges: passkey challenges for each client address':
      ({ peer }) =>
      () =>
        t.ask('POST', '/passkey/login/challenge', { peer }),
    'refreshes: refreshes for each session, apart from those of others': async ({ login, peer }) => {
      let [own, other] = [login, await loginOf(newAddress())];
      const refresh = ({ refresh_token }: Tokens) =>
        t.ask('POST', '/refresh', { json: { refresh_token }, peer });
      return async (index) => {
        const answer = await refresh(own);
        if (answer.status === 200) own = answer.body;
        if (index === 600) expect((await refresh(other)).status).toBe(200);
        return answer;
      };
    },
    'email_changes: changes of address for each user':
      ({ email }) =>
      async () => {
        // Its window is longer than a sign-in is recent.
        const { access_token: token } = await loginOf(email);
        return t.ask('POST', '/me/email', { json: { email: newAddress() }, token, peer: newPeer() });
      },
    'account_changes: changes of profile, passkey names and keys together, apart from those of others':
      async ({ login, peer }) => {
        const other = await loginOf(newAddress());
        const passkey = await addPasskey(t, login, newAuthenticator(t));
        const change = (path: string, { access_token: token }: Tokens, name: string) =>
          t.ask(path === '/keys' ? 'POST' : 'PATCH', path, { token, peer, json: { ...wantedKey, name } });
        const paths = ['/me', `/passkeys/${passkey.body.id}`, '/keys'];
        return async (index) => {
          if (index === 60) expect(outcome(await change('/me', other, 'x'))).toBe('200');
          return change(paths[index % 3]!, login, `name ${index}`);
        };
      },
    'passkey_responses: passkey responses for each client address': ({ peer }) => {
      const response = { clientDataJSON: 'e30', authenticatorData: 'AA', signature: 'AA' };
      const json = { id: 'AA', rawId: 'AA', type: 'public-key', clientExtensionResults: {}, response };
      return () => t.ask('POST', '/passkey/login', { json, peer });
    },
  };
  test.each(Object.entries(counted))('quota of %s', async (name, make) => {
    const limit = name.split(':')[0] as RateLimitName;
    await expectLimit(limit, await make({ email: newAddress(), peer: newPeer(), login: ada }));
  });

  test('the response to a first request says what is left', async () => {
    const { headers } = await t.ask('POST', '/device', { peer: newPeer() });
    expect(headers.get('RateLimit')).toBe('"device_authorizations";r=29;t=60');
    expect(headers.get('RateLimit-Policy')).toBe('"device_authorizations";q=30;w=60');
    const { access_token: token } = await loginOf(newAddress());
    const change = await t.ask('PATCH', '/me', { token, json: { name: 'x' } });
    expect(change.headers.get('RateLimit')).toBe('"account_changes";r=59;t=60');
  });

  test('a refused mail and an invalid request count against no other limit', async () => {
    const [email, peer] = [newAddress(), newPeer()];
    for (let index = 0; index < 40; index++)
      await t.ask('POST', '/magic_link', { json: { email: 'x' }, peer });
    for (let index = 0; index < 5; index++) await magicLink(email, peer);
    for (let index = 0; index < 40; index++) expect((await magicLink(email, peer)).status).toBe(429);
    // 15 more of the recipient's 20 per hour, and 25 more of the client's 30.
    for (let index = 0; index < 15; index++) expect((await magicLink(email, newPeer())).status).toBe(202);
    expectRefused(await magicLink(email, newPeer()), 'mails_by_recipient');
    for (let index = 0; index < 25; index++) expect((await magicLink(newAddress(), peer)).status).toBe(202);
    expectRefused(await magicLink(newAddress(), peer), 'mails_by_client');
  });
});

test('three nodes on one database share their counts', async () => {
  const first = await openApp('postgres', { settings });
  const beside = await Promise.all([1, 2].map(() => openApp('postgres', { settings, beside: first })));
  const nodes = [first, ...beside];
  const { access_token: token } = await first.login();
  for (const [path, ask, times, passed] of [
    ['/device/verify', { json: { user_code: wrongCode() }, token }, 60, 10],
    ['/magic_link', { json: { email: 'flood@example.com' } }, 30, 5],
    ['/device', {}, 90, 30],
  ] as const) {
    const one = (_: unknown, n: number) => nodes[n % nodes.length]!.ask('POST', path, ask);
    const answers = await Promise.all(Array.from({ length: times }, one));
    expect([path, answers.filter(({ status }) => status !== 429).length]).toEqual([path, passed]);
  }
});

test('without its database the limiter refuses guesses and mails, passes everything else, and reports it in the metrics', async () => {
  const t = await openApp('postgres', { settings });
  const { access_token: token, refresh_token } = await t.login();
  await t.ctx.db.single.run('ALTER TABLE rate_limits RENAME TO out_of_reach', []);
  const guess = { json: { user_code: wrongCode() }, token };
  const closed: [string, Ask][] = [
    ['/magic_link', { json: { email: 'b@example.com' } }],
    ['/device', {}],
    ...['verify', 'approve', 'deny'].map((step): [string, Ask] => [`/device/${step}`, guess]),
  ];
  for (const [path, ask] of closed) {
    const answer = await t.ask('POST', path, ask);
    expect([path, outcome(answer)]).toEqual([path, '503 temporarily_unavailable']);
    expect(answer.headers.get('Retry-After')).toBe('1');
  }
  expect((await t.ask('GET', '/me', { token })).status).toBe(200);
  expect((await t.ask('POST', '/refresh', { json: { refresh_token } })).status).toBe(200);
  expect((await t.ask('POST', '/passkey/login/challenge')).status).toBe(200);
  const { text } = await t.ask('GET', 'metrics', { peer: '127.0.0.1' });
  expect(text).toContain('latchkey_limiter_failures_total{limit="user_codes_by_user"} 3');
  expect(text).toContain('latchkey_limiter_failures_total{limit="mails_by_client"} 1');
  await t.ctx.db.single.run('ALTER TABLE out_of_reach RENAME TO rate_limits', []);
  expect((await t.ask('POST', '/device')).status).toBe(200);
});

test('a window has never more than its length left, also by the clock of a node that is behind', async () => {
  const { config, clock, ...others } = (await openApp('postgres')).ctx;
  const now = clock();
  for (const [behindMs, left] of [
    [0, 60],
    [1, 60],
    [-1000, 59],
  ] as const) {
    const node = { ...others, clock: () => now - behindMs };
    const limiter = createRateLimiter(rateLimitRules, config.rateLimitQuotas, node);
    const { headers } = await limiter.take({ limit: 'runs', subject: 'a', isReported: true });
    expect(headers['RateLimit']).toEndWith(`;t=${left}`);
  }
});

test('the memory counter keeps a bounded number of keys and drops the oldest first', async () => {
  for (const [counter, max] of [
    [memoryCounter({ quota: 1, windowSeconds: 600 }, 3), 3],
    [memoryCounter({ quota: 30, windowSeconds: 60 }), maxKeysInMemory],
  ] as const) {
    const pointsOf = async (key: number) => (await counter.count(`${key}`, 0)).points;
    for (let key = 0; key <= max; key++) expect(await pointsOf(key)).toBe(1);
    for (let key = 1; key <= max; key++) expect(await pointsOf(key)).toBe(2);
    expect(await pointsOf(0)).toBe(1);
  }
});
