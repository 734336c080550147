// The link of an email change requires a session of the account or its current address.

import { beforeEach, expect, test } from 'bun:test';
import {
  askForAddress,
  cookieByMail,
  mailsTo,
  outcome,
  sameOrigin,
  subjects,
} from '../../../../../tests/support/account.ts';
import { type Ask, onBothDatabases, openApp, type Tokens } from '../../../../../tests/support/app.ts';
import { shared } from '../../../../../tests/support/shared.ts';
import { rateLimitRules } from '../../settings.ts';
import { setDisabled } from '../account/account.ts';

onBothDatabases('the proof for an email change', (open) => {
  const app = shared(open);
  let people = 0;
  let [email, next, token] = ['', '', ''];
  let owner: Tokens;

  beforeEach(async () => {
    email = `Ada.${people++}@example.com`;
    next = `new-${email}`;
    owner = await app.login(email);
    token = await askForAddress(app, owner, next);
  });

  const verify = (current_email?: unknown, ask: Ask = {}, on = app) =>
    on.ask('POST', '/me/email/verify', {
      json: { token, ...(current_email === undefined ? {} : { current_email }) },
      ...ask,
    });
  const preview = (ask: Ask) => app.ask('POST', '/me/email/preview', { json: { token }, ...ask });
  const currentAddress = async ({ access_token }: Tokens = owner) =>
    (await app.ask('GET', '/me', { token: access_token })).body.email;
  const wrongAddresses = async () => {
    const [row] = await app.ctx.db.read.run<{ n: number }>(
      `SELECT wrong_addresses AS n FROM email_changes WHERE new_email = '${next}'`,
      [],
    );
    return Number(row?.n);
  };

  test('the link alone changes nothing, is not spent and counts no attempt; with the current address, in any ASCII letter case, it changes the address', async () => {
    for (let attempt = 0; attempt < 7; attempt++) expect(outcome(await verify())).toBe('400 invalid_grant');
    expect([await currentAddress(), await wrongAddresses()]).toEqual([email, 0]);
    expect((await verify(email.toUpperCase())).body.email).toBe(next);
    expect(await mailsTo(app, email, subjects.emailChanged)).toHaveLength(1);
  });

  test('the link and any session of the account change the address: browser or device, old or by cookie', async () => {
    const cookie = { cookie: await cookieByMail(app, email), headers: sameOrigin };
    const device = await app.deviceLogin(owner);
    app.pass(1000);
    expect((await verify(undefined, { token: device.access_token })).body.email).toBe(next);
    owner = await app.login(next);
    for (const ask of [{ token: owner.access_token }, cookie]) {
      [email, next] = [next, `again-${next}`];
      token = await askForAddress(app, owner, next);
      // With a session, the current address is not checked.
      expect((await verify('somebody.else@example.com', ask)).body.email).toBe(next);
      expect(await wrongAddresses()).toBe(0);
    }
  });

  test('the credential of another account is refused even with the right address, and nothing is spent or counted', async () => {
    const eve = await app.login('eve@example.com');
    const byCookie = { cookie: await cookieByMail(app, 'eve@example.com'), headers: sameOrigin };
    for (const other of [{ token: eve.access_token }, byCookie]) {
      for (const address of [...Array(7).fill(undefined), 'eve@example.com', 'wrong@example.com', email])
        expect(outcome(await verify(address, other))).toBe('400 invalid_grant');
    }
    expect(await wrongAddresses()).toBe(0);
    expect([await currentAddress(), await currentAddress(eve)]).toEqual([email, 'eve@example.com']);
    expect((await verify(email)).body.email).toBe(next);
  });

  test('an invalid bearer token is refused; the cookie of an ended session is ignored', async () => {
    const device = await app.deviceLogin(owner);
    await app.ask('POST', '/revoke?scope=session', { token: device.access_token });
    const cookie = await cookieByMail(app, email);
    await app.ask('DELETE', '/logout?scope=session', { cookie, headers: sameOrigin });
    for (const invalid of [device.access_token, 'lk_at_x', '']) {
      for (const json of [{ token, current_email: email }, { token }, {}]) {
        const headers = { Authorization: `Bearer ${invalid}` };
        const answer = await app.ask('POST', '/me/email/verify', { json, headers });
        expect(outcome(answer)).toBe('401 invalid_token');
      }
    }
    for (const stale of [cookie, 'latchkey_session=x', `${cookie}x`]) {
      const ask = { cookie: stale, headers: sameOrigin };
      expect(outcome(await verify(undefined, ask))).toBe('400 invalid_grant');
    }
    expect(await wrongAddresses()).toBe(0);
    expect(outcome(await verify(email, { cookie, headers: sameOrigin }))).toBe('200');
  });

  test('a cookie counts only from an allowed origin', async () => {
    const cookie = await cookieByMail(app, email);
    for (const headers of [{}, { Origin: 'https://evil.example' }, { 'Sec-Fetch-Site': 'same-site' }]) {
      for (const current of [undefined, email, 'wrong@example.com'])
        expect(outcome(await verify(current, { cookie, headers }))).toBe('403 origin_not_allowed');
    }
    expect([await currentAddress(), await wrongAddresses()]).toEqual([email, 0]);
    const both = { cookie, token: owner.access_token, headers: { Origin: 'https://evil.example' } };
    expect(outcome(await verify(undefined, both))).toBe('200');
  });

  test('Latchkey-User must match the user of the credential, if there is one', async () => {
    const eve = await app.login('eve@example.com');
    const { id } = (await app.ask('GET', '/me', { token: eve.access_token })).body;
    const headers = { 'Latchkey-User': id };
    expect(outcome(await verify(email, { token: owner.access_token, headers }))).toBe(
      '412 precondition_failed',
    );
    expect(outcome(await verify(email, { headers }))).toBe('200');
  });

  test('after five wrong addresses the link is refused, even with the right address or a session of its owner', async () => {
    const { access_token } = await app.login(email);
    for (let attempt = 0; attempt < 4; attempt++)
      expect(outcome(await verify(`wrong-${attempt}@example.com`))).toBe('400 invalid_grant');
    expect(await preview({ token: access_token })).toMatchObject({ status: 200 });
    expect(outcome(await verify(next))).toBe('400 invalid_grant');
    expect(outcome(await verify(email))).toBe('400 invalid_grant');
    expect(outcome(await verify(undefined, { token: access_token }))).toBe('400 invalid_grant');
    expect(outcome(await preview({ token: access_token }))).toBe('400 invalid_grant');
    expect(outcome(await verify('wrong@example.com'))).toBe('400 invalid_grant');
    expect([await currentAddress(), await wrongAddresses()]).toEqual([email, 5]);
    // A new link has its own count, and works after four.
    token = await askForAddress(app, owner, `fresh-${next}`);
    for (let attempt = 0; attempt < 4; attempt++) await verify('wrong@example.com');
    expect(outcome(await verify(email))).toBe('200');
  });

  test('wrong addresses in parallel on three nodes count to five, and then the link is refused', async () => {
    const nodes = [app, await open({ beside: app }), await open({ beside: app })];
    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, n) => verify(`wrong-${n}@example.com`, {}, nodes[n % 3])),
    );
    expect(new Set(answers.map(outcome))).toEqual(new Set(['400 invalid_grant']));
    expect(await wrongAddresses()).toBe(5);
    expect(outcome(await verify(email, {}, nodes[1]))).toBe('400 invalid_grant');
    for (const node of nodes.slice(1)) await node.close();
  });

  test('a spent link gets the same response as an unknown one and counts no attempt', async () => {
    expect(outcome(await verify(email))).toBe('200');
    const json = { token: `lk_ec_${'A'.repeat(80)}`, current_email: email };
    const unknown = await app.ask('POST', '/me/email/verify', { json });
    expect(outcome(unknown)).toBe('400 invalid_grant');
    for (const spent of [await verify('wrong@example.com'), await verify(next)])
      expect({ ...spent.body, request_id: '' }).toEqual({ ...unknown.body, request_id: '' });
    expect(await wrongAddresses()).toBe(0);
  });

  test('a missing proof and a wrong one get the same response, which reveals nothing about the account', async () => {
    const taken = await app.login(next);
    const seen = [await verify(), await verify('wrong@example.com')];
    await setDisabled(app.ctx, email, true);
    seen.push(await verify(), await verify('wrong@example.com'));
    expect(outcome(await verify(email))).toBe('403 account_disabled');
    await setDisabled(app.ctx, email, false);
    await app.ask('DELETE', '/me', { token: taken.access_token });
    seen.push(await verify(), await verify(email));
    for (const { status, body } of seen) {
      expect([status, { ...body, request_id: '' }]).toEqual([400, { ...seen[0]!.body, request_id: '' }]);
      expect(JSON.stringify(body).toLowerCase()).not.toContain('@');
    }
  });

  test('only a session of the account can preview the change, and the preview does not spend the link', async () => {
    const device = await app.deviceLogin(owner);
    for (const { access_token } of [owner, device]) {
      const { status, body } = await preview({ token: access_token });
      expect([status, body]).toEqual([200, { email, new_email: next }]);
    }
    const eve = await app.login('eve@example.com');
    const refused = await preview({ token: eve.access_token });
    expect(outcome(refused)).toBe('400 invalid_grant');
    expect(refused.text).not.toContain('@');
    expect(outcome(await preview({}))).toBe('401 invalid_token');
    expect([await currentAddress(), await wrongAddresses()]).toEqual([email, 0]);
    expect(outcome(await verify(email))).toBe('200');
    expect(outcome(await preview({ token: owner.access_token }))).toBe('400 invalid_grant');
  });
});

test('one client address can use genuine links at most 600 times a minute', async () => {
  const app = await openApp('sqlite', { settings: { LATCHKEY_RATE_LIMITS: 'on' } });
  const token = await askForAddress(app, await app.login('ada@example.com'), 'new@example.com');
  const use = (link: string) =>
    app.ask('POST', '/me/email/verify', { json: { token: link }, peer: '198.51.100.7' });
  for (let index = 0; index < 30; index++) expect((await use(`${token}x`)).status).toBe(400);
  for (let index = 0; index < rateLimitRules.link_logins.quota; index++)
    expect((await use(token)).status).toBe(400);
  const refused = await use(token);
  expect(outcome(refused)).toBe('429 rate_limited');
  expect(Number(refused.headers.get('Retry-After'))).toBeWithin(1, 61);
  app.pass(61);
  expect((await use(token)).status).toBe(400);
});
