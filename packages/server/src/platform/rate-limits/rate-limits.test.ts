// Each rate limit: its exact quota, its window and what counts.

import { beforeEach, describe, expect, test } from 'bun:test';
import { formatCode } from '@latchkey/contract/codes';
import {
  type Answer,
  type Ask,
  onBothDatabases,
  openApp,
  type Tokens,
} from '../../../../../tests/support/app.ts';
import { createAuthenticator } from '../../../../../tests/support/authenticator.ts';
import { shared } from '../../../../../tests/support/shared.ts';
import { rateLimitRules } from '../../settings.ts';
import { randomUserCode } from '../crypto/codes.ts';
import { systemRandom } from '../crypto/primitives.ts';
import type { RateLimitName } from './rules.ts';

const settings = { LATCHKEY_RATE_LIMITS: 'on' };

let addresses = 0;
/** A client address in a /24 that no other test uses. */
const freshAddress = () => {
  addresses += 1;
  return `10.${Math.floor(addresses / 250)}.${addresses % 250}.1`;
};
let people = 0;
const freshEmail = () => `person${people++}@example.com`;
const wrongCode = () => formatCode(randomUserCode(systemRandom));

function expectRefused(answer: Answer, limit: RateLimitName): void {
  const { quota, windowSeconds } = rateLimitRules[limit];
  expect([answer.status, answer.body.error]).toEqual([429, 'rate_limited']);
  const retryAfter = Number(answer.headers.get('Retry-After'));
  expect(retryAfter).toBeWithin(1, windowSeconds + 1);
  expect(answer.headers.get('RateLimit')).toBe(`"${limit}";r=0;t=${retryAfter}`);
  expect(answer.headers.get('RateLimit-Policy')).toBe(`"${limit}";q=${quota};w=${windowSeconds}`);
}

onBothDatabases('limits', (open, dialect) => {
  const t = shared(() => open({ settings }));
  let ada: Tokens;

  beforeEach(async () => {
    ada = await loginOf(freshEmail());
  });

  async function loginOf(email: string): Promise<Tokens> {
    const peer = freshAddress();
    await t.ask('POST', '/magic_link', { json: { email }, peer });
    const mail = (await t.mails()).find(({ to }) => to === email);
    return (await t.ask('POST', '/magic_link/verify', { json: { token: mail!.token }, peer })).body;
  }
  /** Expects as many requests as the quota to pass, the next one to be refused, and one after the window to pass again. */
  async function expectLimit(
    limit: RateLimitName,
    one: (index: number) => Promise<Answer>,
    { inParallel = false } = {},
  ): Promise<void> {
    const { quota, windowSeconds } = rateLimitRules[limit];
    const within = Array.from({ length: quota }, (_, index) => index);
    if (inParallel) for (const { status } of await Promise.all(within.map(one))) expect(status).not.toBe(429);
    else for (const index of within) expect((await one(index)).status).not.toBe(429);
    expectRefused(await one(quota), limit);
    t.pass(windowSeconds - 10);
    expectRefused(await one(quota + 1), limit);
    t.pass(11);
    expect((await one(quota + 2)).status).not.toBe(429);
  }

  const magicLink = (email: string, peer: string) => t.ask('POST', '/magic_link', { json: { email }, peer });
  const guess = (path: string, ask: Ask, user_code = wrongCode()) =>
    t.ask('POST', `/device/${path}`, { json: { user_code }, ...ask });

  test('allows 10 wrong user codes per 10 minutes for each user, at verify, approve and deny together', async () => {
    await expectLimit('user_codes_by_user', (index) =>
      guess(['verify', 'approve', 'deny'][index % 3]!, { token: ada.access_token, peer: freshAddress() }),
    );
  });

  test('correct user codes neither count nor reset the count; malformed codes count as wrong', async () => {
    const peer = freshAddress();
    const { user_code } = (await t.ask('POST', '/device', { peer })).body;
    const ask = { token: ada.access_token, peer };
    for (let index = 0; index < 9; index++) {
      expect((await guess('verify', ask, index % 2 ? 'no code' : wrongCode())).body.error).toBe(
        'invalid_grant',
      );
      for (let right = 0; right < 3; right++)
        expect((await guess('verify', ask, user_code)).status).toBe(200);
    }
    expect((await guess('approve', ask, user_code)).status).toBe(204);
    expect((await guess('verify', ask, user_code)).body.error).toBe('invalid_grant');
    expectRefused(await guess('verify', ask), 'user_codes_by_user');
    // A refused request must not reveal whether the code is correct.
    const fresh = (await t.ask('POST', '/device', { peer })).body.user_code;
    expectRefused(await guess('verify', ask, fresh), 'user_codes_by_user');
  });

  test('a correct code that completes after its window does not change the next window', async () => {
    const counter = { limit: 'user_codes_by_user', subject: freshEmail() } as const;
    const late = await t.ctx.limiter.take(counter);
    t.pass(601);
    await t.ctx.limiter.take(counter);
    await late.refund();
    for (let index = 1; index < 10; index++) await t.ctx.limiter.take(counter);
    expect(t.ctx.limiter.take(counter)).rejects.toMatchObject({ code: 'rate_limited' });
  });

  test('invalid changes do not count, and of 80 parallel changes on several nodes exactly 60 pass', async () => {
    const beside = await open({ settings, beside: t });
    const ask = { token: ada.access_token, peer: freshAddress() };
    const headers = { 'If-Match': '"stale"' };
    const refused: [string, Ask, number][] = [
      ['/me', { json: { name: '' } }, 400],
      ['/me', { json: { name: 'x' }, headers }, 412],
      ['/passkeys/pk_none', { json: { name: 'x' } }, 404],
      ['/passkeys/pk_AAAAAAAAAAAAAAAAAAAAAA', { json: { name: 'x' } }, 404],
    ];
    for (let index = 0; index < 80; index++) {
      const [path, wrong, status] = refused[index % refused.length]!;
      expect((await t.ask('PATCH', path, { ...ask, ...wrong })).status).toBe(status);
    }
    // On SQLite there is one node, which counts in its own memory.
    const nodes = dialect === 'postgres' ? [t, beside] : [t];
    const answers = await Promise.all(
      Array.from({ length: 80 }, (_, n) =>
        nodes[n % nodes.length]!.ask('PATCH', '/me', { ...ask, json: { name: `n${n}` } }),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(60);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(20);
  });

  test('stored counts contain no address, account or code', async () => {
    await magicLink('nobody-knows@example.com', '203.0.113.77');
    const rows = await t.ctx.db.read.run<{ key: string }>('SELECT key FROM rate_limits', []);
    expect(rows.length > 0).toBe(dialect === 'postgres');
    for (const { key } of rows) expect(key).toMatch(/^[a-z_]+:[\w-]{22}$/);
  });

  test('a sweep deletes ended windows', async () => {
    await magicLink(freshEmail(), freshAddress());
    t.pass(3600 + 3600 + 1);
    await t.sweep();
    const rows = await t.ctx.db.read.run('SELECT key FROM rate_limits', []);
    expect(rows).toEqual([]);
  });

  // The other quotas are counted by the same statement.
  if (dialect === 'postgres') return;

  test('allows 5 mails per 15 minutes for each pair of recipient and client network', async () => {
    const email = freshEmail();
    const network = freshAddress().replace(/\.1$/, '.');
    await expectLimit('mails_by_pair', (index) => magicLink(email, network + (index + 1)));
  });

  test('allows 20 mails per hour to each recipient, from all clients together', async () => {
    const email = freshEmail();
    await expectLimit('mails_by_recipient', () => magicLink(email, freshAddress()));
  });

  test('allows 30 mails per hour for each client address, to all recipients together', async () => {
    const peer = freshAddress();
    await expectLimit('mails_by_client', () => magicLink(freshEmail(), peer));
  });

  test('spellings of an address count as one recipient, and a /64 counts as one client', async () => {
    const email = freshEmail();
    for (let index = 0; index < 5; index++) {
      const spelling = index % 2 ? email.toUpperCase() : email;
      expect((await magicLink(spelling, `2001:db8:${people}:1::${index + 1}`)).status).toBe(202);
    }
    expectRefused(await magicLink(email, `2001:db8:${people}:1:ffff::`), 'mails_by_pair');
    expect((await magicLink(email, `2001:db8:${people}:2::1`)).status).toBe(202);
    const peer = freshAddress();
    const other = freshEmail();
    for (let index = 0; index < 5; index++) await magicLink(other, index % 2 ? peer : `::ffff:${peer}`);
    expectRefused(await magicLink(other, peer), 'mails_by_pair');
  });

  test('a refused mail and an invalid request count against no other limit', async () => {
    const email = freshEmail();
    const peer = freshAddress();
    for (let index = 0; index < 40; index++)
      await t.ask('POST', '/magic_link', { json: { email: 'x' }, peer });
    for (let index = 0; index < 5; index++) await magicLink(email, peer);
    for (let index = 0; index < 40; index++) expect((await magicLink(email, peer)).status).toBe(429);
    // 15 more of the recipient's 20 per hour, and 25 more of the client's 30.
    for (let index = 0; index < 15; index++)
      expect((await magicLink(email, freshAddress())).status).toBe(202);
    expectRefused(await magicLink(email, freshAddress()), 'mails_by_recipient');
    for (let index = 0; index < 25; index++) expect((await magicLink(freshEmail(), peer)).status).toBe(202);
    expectRefused(await magicLink(freshEmail(), peer), 'mails_by_client');
  });

  test('allows 30 wrong user codes per 10 minutes for each client address', async () => {
    const tokens: string[] = [];
    for (let index = 0; index < 5; index++) tokens.push((await loginOf(freshEmail())).access_token);
    const peer = freshAddress();
    await expectLimit('user_codes_by_client', (index) =>
      guess('verify', { token: tokens[index % tokens.length]!, peer }),
    );
  });

  test('a refusal while signed in is in the security log, once per hour for each limit', async () => {
    const ask = { token: ada.access_token, peer: freshAddress() };
    for (let index = 0; index < rateLimitRules.user_codes_by_user.quota + 2; index++)
      await guess('deny', ask);
    for (let index = 0; index < rateLimitRules.email_changes.quota + 2; index++)
      await t.ask('POST', '/me/email', { json: { email: freshEmail() }, ...ask });
    const { events } = (await t.ask('GET', '/events', ask)).body;
    const reached = events.filter(({ type }: { type: string }) => type === 'limit_reached');
    expect(reached.map(({ detail }: { detail: object }) => detail)).toEqual([
      { limit: 'email_changes' },
      { limit: 'user_codes_by_user' },
    ]);
    expect(reached[0].ip_address).toBe(ask.peer);
    expect(reached[0].session_id).toStartWith('ses_');
  });

  test('allows 60 changes of an account per minute, of profile and passkey names together', async () => {
    // The limit is recorded once for each hour of the clock, and this test takes more than a minute of it.
    t.pass(3_600 - ((t.ctx.clock() / 1000) % 3_600));
    ada = await loginOf(freshEmail());
    const other = await loginOf(freshEmail());
    const ask = () => ({ token: ada.access_token, peer: freshAddress() });
    const options = (await t.ask('POST', '/passkey/register/challenge', ask())).body;
    const json = createAuthenticator({ origin: t.ctx.config.baseUrl }).create(options);
    const { id } = (await t.ask('POST', '/passkey/register', { ...ask(), json })).body;
    const first = await t.ask('PATCH', '/me', { token: other.access_token, json: { name: 'x' } });
    expect(first.headers.get('RateLimit')).toBe('"account_changes";r=59;t=60');
    await expectLimit('account_changes', (index) =>
      t.ask('PATCH', index % 2 ? '/me' : `/passkeys/${id}`, { ...ask(), json: { name: `name ${index}` } }),
    );
    const beside = { token: other.access_token, json: { name: 'y' } };
    expect((await t.ask('PATCH', '/me', beside)).status).toBe(200);
    const { events } = (await t.ask('GET', '/events', ask())).body;
    expect(events.filter(({ type }: { type: string }) => type === 'limit_reached')).toHaveLength(1);
  });

  test('allows 120 wrong email codes per 10 minutes for each client address; correct ones do not count', async () => {
    const requests: string[] = [];
    for (let index = 0; index < 9; index++)
      requests.push((await magicLink(freshEmail(), freshAddress())).body.request);
    const peer = freshAddress();
    const email = freshEmail();
    const { request } = (await magicLink(email, peer)).body;
    const mail = (await t.mails()).find(({ to }) => to === email)!;
    const code = { json: { request, code: mail.code }, peer };
    expect((await t.ask('POST', '/magic_link/verify', code)).status).toBe(200);
    await expectLimit(
      'email_codes_by_client',
      (index) =>
        t.ask('POST', '/magic_link/verify', {
          json: { request: requests[index % 9], code: '0000-0000' },
          peer,
        }),
      { inParallel: true },
    );
  });

  test('allows 30 device logins per minute for each client address, as JSON and form together', async () => {
    const peer = freshAddress();
    const first = await t.ask('POST', '/device', { peer: freshAddress() });
    expect(first.headers.get('RateLimit')).toMatch(/^"device_authorizations";r=29;t=60$/);
    expect(first.headers.get('RateLimit-Policy')).toBe('"device_authorizations";q=30;w=60');
    await expectLimit('device_authorizations', (index) =>
      t.ask('POST', '/device', index % 2 ? { peer } : { peer, form: { client_id: 'x' } }),
    );
  });

  test('allows 600 polls per minute for each device code', async () => {
    const { device_code } = (await t.ask('POST', '/device', { peer: freshAddress() })).body;
    await expectLimit('device_polls', () =>
      t.ask('POST', '/token', { json: { device_code }, peer: freshAddress() }),
    );
  });

  test('allows 600 refreshes per minute for each session, independently of other sessions', async () => {
    let { refresh_token } = ada;
    const bob = await loginOf(freshEmail());
    const peer = freshAddress();
    const refresh = (token: string) => t.ask('POST', '/refresh', { json: { refresh_token: token }, peer });
    await expectLimit('refreshes', async (index) => {
      const answer = await refresh(refresh_token);
      if (answer.status === 200) ({ refresh_token } = answer.body);
      if (index === 600) expect((await refresh(bob.refresh_token)).status).toBe(200);
      return answer;
    });
  });

  test('allows 3000 passkey challenges and 1200 responses per minute for each client address', async () => {
    const peer = freshAddress();
    await expectLimit('passkey_challenges', () => t.ask('POST', '/passkey/login/challenge', { peer }));
    const response = { clientDataJSON: 'e30', authenticatorData: 'AA', signature: 'AA' };
    const json = { id: 'AA', rawId: 'AA', type: 'public-key', clientExtensionResults: {}, response };
    await expectLimit('passkey_responses', () => t.ask('POST', '/passkey/login', { json, peer }));
  });

  test('allows 600 magic links per minute for each client address; forged ones do not count', async () => {
    const peer = freshAddress();
    const email = freshEmail();
    await magicLink(email, freshAddress());
    const { token } = (await t.mails()).find(({ to }) => to === email)!;
    const follow = (sent: string) => t.ask('POST', '/magic_link/verify', { json: { token: sent }, peer });
    for (let index = 0; index < 200; index++) expect((await follow(`${token}x`)).status).toBe(400);
    await expectLimit('link_logins', () => follow(token));
  });
});

test('three nodes on one database share their counts', async () => {
  const first = await openApp('postgres', { settings });
  const nodes = [
    first,
    await openApp('postgres', { settings, beside: first }),
    await openApp('postgres', { settings, beside: first }),
  ];
  const tokens = await first.login();
  const everywhere = (path: string, ask: () => Ask, times: number) =>
    Promise.all(Array.from({ length: times }, (_, index) => nodes[index % 3]!.ask('POST', path, ask())));
  const count = (answers: readonly Answer[], status: number) =>
    answers.filter((answer) => answer.status === status).length;
  const guesses = await everywhere(
    '/device/verify',
    () => ({ json: { user_code: wrongCode() }, token: tokens.access_token }),
    60,
  );
  expect([count(guesses, 400), count(guesses, 429)]).toEqual([10, 50]);
  const mails = await everywhere('/magic_link', () => ({ json: { email: 'flood@example.com' } }), 30);
  expect([count(mails, 202), count(mails, 429)]).toEqual([5, 25]);
  const starts = await everywhere('/device', () => ({}), 90);
  expect([count(starts, 200), count(starts, 429)]).toEqual([30, 60]);
  for (const node of nodes) await node.close();
});

describe('a limiter without its database', () => {
  test('without its database the limiter refuses guesses and mails, passes everything else, and reports it in the metrics', async () => {
    const t = await openApp('postgres', { settings });
    const { access_token: token, refresh_token } = await t.login();
    await t.ctx.db.single.run('ALTER TABLE rate_limits RENAME TO out_of_reach', []);
    const closed: [string, Ask][] = [
      ['/magic_link', { json: { email: 'b@example.com' } }],
      ['/device', {}],
      ['/device/verify', { json: { user_code: wrongCode() }, token }],
      ['/device/approve', { json: { user_code: wrongCode() }, token }],
      ['/device/deny', { json: { user_code: wrongCode() }, token }],
    ];
    for (const [path, ask] of closed) {
      const { status, body, headers } = await t.ask('POST', path, ask);
      expect([path, status, body.error]).toEqual([path, 503, 'temporarily_unavailable']);
      expect(headers.get('Retry-After')).toBe('1');
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
});
