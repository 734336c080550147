// A change of the address of an account, and who may confirm it.

import { beforeEach, expect, test } from 'bun:test';
import {
  addPasskey,
  askForAddress,
  changeAddress,
  cookieByMail,
  mailsTo,
  newAuthenticator,
  outcome,
  sameOrigin,
  signInByMail,
  subjects,
} from '#support/account.ts';
import { type Ask, onBothDatabases, type TestApp, type Tokens } from '#support/app.ts';
import { fresh, shared } from '#support/shared.ts';
import { setDisabled } from '../account/account.ts';

const ada = 'ada@example.com';
const next = 'ada@new.example';
const day = 86_400;

const me = async (app: TestApp, { access_token: token }: Tokens) =>
  (await app.ask('GET', '/me', { token })).body;

onBothDatabases('email change', (open) => {
  const app = fresh(open);
  /** Uses a link with the current address of the account. */
  const verify = (token: string, current_email = ada) =>
    app.ask('POST', '/me/email/verify', { json: { token, current_email } });

  test('the link in the mail to the new address changes the address once, and all sessions stay active', async () => {
    const tokens = await app.login(ada);
    const before = await app.ask('GET', '/me', { token: tokens.access_token });
    const token = await askForAddress(app, tokens, next);
    expect(token).toMatch(/^lk_ec_[\w-]{80}$/);
    expect((await me(app, tokens)).email).toBe(ada);
    const { status, body } = await verify(token);
    expect(status).toBe(200);
    expect(body).toEqual({ ...before.body, email: next, updated_at: body.updated_at });
    const after = await app.ask('GET', '/me', { token: tokens.access_token });
    expect(after.body).toEqual(body);
    expect(after.headers.get('ETag')).not.toBe(before.headers.get('ETag'));
    expect(outcome(await verify(token, next))).toBe('400 invalid_grant');
    expect((await signInByMail(app, next)).status).toBe(200);
  });

  test('a free and a taken address get the same response; the owner of the taken one gets a mail and keeps it', async () => {
    const [tokens, bob] = [await app.login(ada), await app.login('bob@example.com')];
    for (const email of ['bob@example.com', 'BOB@example.com', 'free@example.com']) {
      const answer = await app.ask('POST', '/me/email', { token: tokens.access_token, json: { email } });
      expect([answer.status, answer.body]).toEqual([202, { status: 'sent', expires_in: 3600 }]);
    }
    for (const address of ['bob@example.com', 'BOB@example.com']) {
      const [mail] = await mailsTo(app, address, subjects.taken);
      expect(mail?.text).not.toMatch(/lk_[a-z]{2}_/);
      expect(mail?.html).not.toContain('href');
    }
    expect((await me(app, bob)).email).toBe('bob@example.com');
  });

  test('an address taken between the mail and the click is a conflict and does not spend the link', async () => {
    const tokens = await app.login(ada);
    const token = await askForAddress(app, tokens, next);
    const other = await app.login(next);
    expect(outcome(await verify(token))).toBe('409 conflict');
    expect((await me(app, tokens)).email).toBe(ada);
    await app.ask('DELETE', '/me', { token: other.access_token });
    expect(outcome(await verify(token))).toBe('200');
  });

  test('the link stops working when it expires and when the session that requested it ends', async () => {
    const late = await askForAddress(app, await app.login(ada), next);
    app.pass(3600);
    expect(outcome(await verify(late))).toBe('400 invalid_grant');
    for (const end of ['/revoke', '/revoke?scope=session']) {
      const tokens = await app.login(ada);
      const token = await askForAddress(app, tokens, next);
      await app.ask('POST', end, { token: tokens.access_token });
      expect(outcome(await verify(token))).toBe('400 invalid_grant');
    }
  });

  test('of an account that changes to an address, and another that changes to it or signs up with it in parallel, one has it, and nothing fails', async () => {
    for (let round = 0; round < 12; round++) {
      const address = `raced-${round}@new.example`;
      const change = async (name: string) =>
        askForAddress(app, await app.login(`${name}${round}@example.com`), address);
      const token = await change('a');
      const [other, link] = round % 2 ? [await change('b'), ''] : ['', await app.linkTokenFor(address)];
      const answers = await Promise.all([
        verify(token, `a${round}@example.com`),
        link
          ? app.ask('POST', '/magic_link/verify', { json: { token: link } })
          : verify(other, `b${round}@example.com`),
      ]);
      const outcomes = answers.map(outcome);
      if (link) expect(outcomes).toEqual([expect.stringMatching(/^(200|409 conflict)$/), '200']);
      else expect(outcomes.toSorted()).toEqual(['200', '409 conflict']);
      const rows = await app.ctx.db.read.run(`SELECT id FROM users WHERE email = '${address}'`, []);
      expect(rows).toHaveLength(1);
    }
  });

  test('an account can change back to its former address, which for 7 days no other account can take, and no sign-in link to it creates one', async () => {
    const [tokens, bob] = [await app.login(ada), await app.login('bob@example.com')];
    const token = await askForAddress(app, tokens, next);
    const inFlight = await app.linkTokenFor(ada);
    await verify(token);
    const used = await app.ask('POST', '/magic_link/verify', { json: { token: inFlight } });
    expect(outcome(used)).toBe('403 signup_disabled');
    expect(await askForAddress(app, bob, ada)).toBe('');
    expect(await mailsTo(app, ada, subjects.taken)).toHaveLength(1);
    for (const address of [ada, next])
      expect((await changeAddress(app, tokens, address)).body.email).toBe(address);
    app.pass(7 * day - 60);
    expect(outcome(await signInByMail(app, ada))).toBe('403 signup_disabled');
    app.pass(61);
    const signedIn = await signInByMail(app, ada);
    expect(outcome(signedIn)).toBe('200');
    expect((await me(app, signedIn.body)).id).not.toBe(
      (await me(app, (await signInByMail(app, next)).body)).id,
    );
  });

  test('expired changes and their notices are swept', async () => {
    const tokens = await app.login(ada);
    await addPasskey(app, tokens, newAuthenticator(app));
    await changeAddress(app, tokens, next);
    app.pass(8 * day + 1);
    await app.sweep();
    expect(await app.ctx.db.read.run('SELECT id FROM notices', [])).toEqual([]);
    expect(await app.ctx.db.read.run('SELECT id FROM email_changes', [])).toHaveLength(1);
    app.pass(30 * day);
    await app.sweep();
    expect(await app.ctx.db.read.run('SELECT id FROM email_changes', [])).toEqual([]);
  });
});

// The link requires a session of the account or its current address.
onBothDatabases('the proof for an email change', (open) => {
  const app = shared(open);
  let people = 0;
  let [email, wanted, token] = ['', '', ''];
  let owner: Tokens;

  beforeEach(async () => {
    email = `Ada.${people++}@example.com`;
    wanted = `new-${email}`;
    owner = await app.login(email);
    token = await askForAddress(app, owner, wanted);
  });

  const verify = (current_email?: unknown, ask: Ask = {}, on = app) =>
    on.ask('POST', '/me/email/verify', {
      json: { token, ...(current_email === undefined ? {} : { current_email }) },
      ...ask,
    });
  const preview = (ask: Ask) => app.ask('POST', '/me/email/preview', { json: { token }, ...ask });
  const currentAddress = async (tokens = owner) => (await me(app, tokens)).email;
  const wrongAddresses = async () => {
    const [row] = await app.ctx.db.read.run<{ n: number }>(
      `SELECT wrong_addresses AS n FROM email_changes WHERE new_email = '${wanted}'`,
      [],
    );
    return Number(row?.n);
  };

  test('the link alone, or with a key, changes nothing, is not spent and counts no attempt; with the current address, in any ASCII letter case, it changes the address', async () => {
    const wantedKey = { name: 'ci', scope: '*', expires_in: 3600 };
    const { body } = await app.ask('POST', '/keys', { token: owner.access_token, json: wantedKey });
    for (let attempt = 0; attempt < 7; attempt++) expect(outcome(await verify())).toBe('400 invalid_grant');
    expect(outcome(await verify(email, { token: body.key }))).toBe('400 invalid_grant');
    expect([await currentAddress(), await wrongAddresses()]).toEqual([email, 0]);
    expect((await verify(email.toUpperCase())).body.email).toBe(wanted);
    expect(await mailsTo(app, email, subjects.emailChanged)).toHaveLength(1);
  });

  test('any session of the account may preview the change, and with the link it changes the address: browser or device, old or by cookie', async () => {
    const cookie = { cookie: await cookieByMail(app, email), headers: sameOrigin };
    const device = await app.deviceLogin(owner);
    for (const { access_token } of [owner, device]) {
      const { status, body } = await preview({ token: access_token });
      expect([status, body]).toEqual([200, { email, new_email: wanted }]);
    }
    app.pass(1000);
    expect((await verify(undefined, { token: device.access_token })).body.email).toBe(wanted);
    expect(outcome(await preview({ token: device.access_token }))).toBe('400 invalid_grant');
    owner = await app.login(wanted);
    for (const ask of [{ token: owner.access_token }, cookie]) {
      [email, wanted] = [wanted, `again-${wanted}`];
      token = await askForAddress(app, owner, wanted);
      // With a session, the current address is not checked.
      expect((await verify('somebody.else@example.com', ask)).body.email).toBe(wanted);
      expect(await wrongAddresses()).toBe(0);
    }
  });

  const eve = 'eve@example.com';
  const byCookie = (cookie: string, headers: Record<string, string> = sameOrigin): Ask => ({
    cookie,
    headers,
  });

  /** Who uses the link: each with no address, the right one and a wrong one, which all get the same response. */
  test.each<[string, string, () => Promise<Ask>]>([
    ['another account', '400 invalid_grant', async () => ({ token: (await app.login(eve)).access_token })],
    ['another account by cookie', '400 invalid_grant', async () => byCookie(await cookieByMail(app, eve))],
    ['an unknown token', '401 invalid_token', async () => ({ token: 'lk_at_x' })],
    ['an empty token', '401 invalid_token', async () => ({ token: '' })],
    [
      'an ended session',
      '401 invalid_token',
      async () => {
        const { access_token: token } = await app.deviceLogin(owner);
        await app.ask('POST', '/revoke?scope=session', { token });
        return { token };
      },
    ],
    // Which pages are: platform/http/origin.test.ts.
    ['another page', '403 origin_not_allowed', async () => byCookie(await cookieByMail(app, email), {})],
  ])(
    '%s is refused (%s) even with the right address, may see nothing, and spends and counts nothing',
    async (_, refusal, make) => {
      const ask = await make();
      const seen = await preview(ask);
      expect([outcome(seen), seen.text.includes('@')]).toEqual([refusal, false]);
      expect(outcome(await preview({}))).toBe('401 invalid_token');
      for (const address of [...Array(5).fill(undefined), 'wrong@example.com', eve, email])
        expect(outcome(await verify(address, ask))).toBe(refusal);
      expect([await currentAddress(), await wrongAddresses()]).toEqual([email, 0]);
      expect((await verify(email)).body.email).toBe(wanted);
    },
  );

  test('the cookie of an ended session is ignored, and any cookie beside a token', async () => {
    const cookie = await cookieByMail(app, email);
    const foreign = { token: owner.access_token, ...byCookie(cookie, { Origin: 'https://evil.example' }) };
    await app.ask('DELETE', '/logout?scope=session', byCookie(cookie));
    for (const stale of [cookie, 'latchkey_session=x', `${cookie}x`])
      expect(outcome(await verify(undefined, byCookie(stale)))).toBe('400 invalid_grant');
    expect(await wrongAddresses()).toBe(0);
    expect(outcome(await verify(undefined, foreign))).toBe('200');
    token = await askForAddress(app, owner, `again-${wanted}`);
    // user.test.ts has a Latchkey-User beside a credential.
    const headers = { ...sameOrigin, 'Latchkey-User': `usr_${'x'.repeat(22)}` };
    expect(outcome(await verify(wanted, byCookie(cookie, headers)))).toBe('200');
  });

  test('after four wrong addresses the link works; in parallel on three nodes they count to five, and then it is refused, even with the right address or a session of its owner', async () => {
    const nodes = [app, await open({ beside: app }), await open({ beside: app })];
    for (let attempt = 0; attempt < 4; attempt++)
      expect(outcome(await verify(`wrong-${attempt}@example.com`))).toBe('400 invalid_grant');
    expect(await preview({ token: owner.access_token })).toMatchObject({ status: 200 });
    expect(outcome(await verify(email))).toBe('200');
    [email, wanted] = [wanted, `fresh-${wanted}`];
    token = await askForAddress(app, owner, wanted);
    const wrong = [wanted, ...Array.from({ length: 23 }, (_, n) => `wrong-${n}@example.com`)];
    const { access_token } = owner;
    for (const answer of [
      ...(await Promise.all(wrong.map((address, n) => verify(address, {}, nodes[n % 3])))),
      await verify(email, {}, nodes[1]),
      await verify(undefined, { token: access_token }),
      await preview({ token: access_token }),
      await verify('wrong@example.com'),
    ])
      expect(outcome(answer)).toBe('400 invalid_grant');
    expect([await currentAddress(), await wrongAddresses()]).toEqual([email, 5]);
    for (const node of nodes.slice(1)) await node.close();
  });

  test('a missing proof, a wrong one, and a link that is spent or unknown get the same response, which reveals nothing about the account', async () => {
    const taken = await app.login(wanted);
    const seen = [await verify(), await verify('wrong@example.com')];
    await setDisabled(app.ctx, email, true);
    seen.push(await verify(), await verify('wrong@example.com'));
    expect(outcome(await verify(email))).toBe('403 account_disabled');
    await setDisabled(app.ctx, email, false);
    await app.ask('DELETE', '/me', { token: taken.access_token });
    seen.push(await verify(), await verify(email));
    const json = { token: `lk_ec_${'A'.repeat(80)}`, current_email: email };
    seen.push(await app.ask('POST', '/me/email/verify', { json }));
    token = await askForAddress(app, await app.login(email), `fresh-${wanted}`);
    expect(outcome(await verify(email))).toBe('200');
    wanted = `fresh-${wanted}`;
    seen.push(await verify('wrong@example.com'), await verify(wanted));
    expect(await wrongAddresses()).toBe(0);
    for (const { status, body } of seen) {
      expect([status, { ...body, request_id: '' }]).toEqual([400, { ...seen[0]!.body, request_id: '' }]);
      expect(JSON.stringify(body).toLowerCase()).not.toContain('@');
    }
  });
});
