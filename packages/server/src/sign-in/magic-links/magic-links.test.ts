// Signing in with the link or the code of a mail, or with a link that an operator issues, on both databases.

import { expect, test } from 'bun:test';
import { disown, isLive, outcome } from '#support/account.ts';
import { type Link, linkFor } from '#support/account-scene.ts';
import { onBothDatabases, type TestApp } from '#support/app.ts';
import { startDevice } from '#support/devices.ts';
import { loggedEvents } from '#support/security-log.ts';
import { fresh } from '#support/shared.ts';
import { setDisabled } from '../../identity/account/account.ts';
import { readHandle } from '../../platform/crypto/handle.ts';
import { issueSignInLink } from './magic-links.ts';

const ada = 'ada@example.com';
const refused = '400 invalid_grant';

const verify = async (t: TestApp, json: object): Promise<string> =>
  outcome(await t.ask('POST', '/magic_link/verify', { json }));
const follow = (t: TestApp, token: string) => verify(t, { token });
const enter = (t: TestApp, request: string, code: string) => verify(t, { request, code });

/** Signs in with the link of a mail to this address. */
const signIn = async (t: TestApp, email = ada): Promise<string> => follow(t, await t.linkTokenFor(email));

/** Signs in by mail, and returns the profile of the account. */
const profileOf = async (t: TestApp, email: string) => {
  const { access_token: token } = await t.login(email);
  return (await t.ask('GET', '/me', { token })).body;
};

const rows = async (t: TestApp, table: string): Promise<number> =>
  (await t.ctx.db.read.run(`SELECT id FROM ${table}`, [])).length;

onBothDatabases('magic links', (open) => {
  const t = fresh(open);

  test('known, unknown, disabled and disallowed addresses get the same answer after the same statements', async () => {
    const t = await open({ settings: { LATCHKEY_SIGNUP: 'example.com' } });
    await t.login('known@example.com');
    await t.login('disabled@example.com');
    await setDisabled(t.ctx, 'disabled@example.com', true);
    const answers = [];
    const names = ['known@example.com', 'new@example.com', 'disabled@example.com', 'out@elsewhere.example'];
    for (const email of names) {
      const before = t.statements.length;
      const { status, body, headers } = await t.ask('POST', '/magic_link', { json: { email } });
      expect(body).toEqual({ status: 'sent', expires_in: 900, request: expect.stringMatching(/^lk_mr_/) });
      answers.push({
        status,
        length: body.request.length,
        headers: [...headers.keys()].sort(),
        statements: t.statements.slice(before),
      });
    }
    expect(answers[0]!.status).toBe(202);
    expect(answers[0]!.statements.length).toBeGreaterThan(0);
    for (const answer of answers) expect(answer).toEqual(answers[0]!);
  });

  test('addresses that differ in ASCII letter case, and in no other way, share an account, which keeps the first spelling; signing in spends their other links', async () => {
    const other = await t.linkTokenFor('bob@example.com');
    const first = await profileOf(t, 'Ada@Example.com');
    const lower = await t.linkTokenFor(ada);
    expect(await profileOf(t, 'aDA@eXAMPLE.COM')).toEqual(first);
    expect(first.email).toBe('Ada@Example.com');
    expect(await follow(t, lower)).toBe(refused);
    expect(await follow(t, other)).toBe('200');
    expect(await signIn(t)).toBe('200');
    const lookalikes = [
      'mike@example.com',
      'mi\u212Ae@example.com', // KELVIN SIGN
      'm\u0131ke@example.com', // dotless i
      'm\u0456ke@example.com', // Cyrillic i
      '\u00fcte@example.com',
      '\u00dcte@example.com',
      'u\u0308te@example.com',
    ];
    for (const email of lookalikes) expect((await profileOf(t, email)).email).toBe(email);
    expect(await rows(t, 'users')).toBe(2 + lookalikes.length);
  });

  test('a preview, a wrong address beside the token, and GET and HEAD requests spend no link; a link that is used or has expired is refused', async () => {
    const [used, expiring] = [await t.linkTokenFor(ada), await t.linkTokenFor('late@example.com')];
    const preview = async (token: string) =>
      (await t.ask('POST', '/magic_link/preview', { json: { token } })).body;
    for (let count = 0; count < 3; count++) expect(await preview(used)).toEqual({ expires_in: 900 });
    for (const email of ['eve@example.com', 'ada@example.co', '\u0430da@example.com', 'x'])
      expect(await verify(t, { token: used, email })).toBe(refused);
    for (const method of ['GET', 'HEAD']) {
      for (const page of ['magic-link', `magic-link?token=${used}`, 'login'])
        expect((await t.ask(method, page)).status).toBe(200);
      expect((await t.ask(method, `/magic_link/verify?token=${used}`)).status).toBe(405);
    }
    t.pass(600);
    expect(await preview(expiring)).toEqual({ expires_in: 300 });
    expect(await verify(t, { token: used, email: 'ADA@EXAMPLE.com' })).toBe('200');
    t.pass(300);
    for (const token of [used, expiring, `${expiring}x`])
      expect((await preview(token)).error).toBe('invalid_grant');
    expect(await follow(t, expiring)).toBe(refused);
    expect(await rows(t, 'users')).toBe(1);
  });

  test('LATCHKEY_SIGNUP with domains allows exactly these, in any letter case, to sign up and to change to', async () => {
    const t = await open({ settings: { LATCHKEY_SIGNUP: 'Example.com, corp.example, b\u00fccher.example' } });
    for (const domain of ['example.com', 'EXAMPLE.COM', 'corp.example', 'xn--bcher-kva.example'])
      expect(await signIn(t, `a@${domain}`)).toBe('200');
    const { access_token: token } = await t.login();
    const change = async (email: string) =>
      outcome(await t.ask('POST', '/me/email', { token, json: { email } }));
    for (const domain of ['sub.example.com', 'notexample.com', 'example.com.evil.example', 'example.co'])
      for (const take of [change, (email: string) => signIn(t, email)])
        expect(await take(`a@${domain}`)).toBe('403 signup_disabled');
    expect(await change('lovelace@EXAMPLE.com')).toBe('202');
  });

  test('the first sign-in creates the account with a personal organization that it owns, whose slug no other one has', async () => {
    const slugs = new Set<string>();
    for (const name of ['ada@a', 'ada@a', 'ada@b', '\u00fc@a', `${'x'.repeat(64)}@a`]) {
      const { access_token: token } = await t.login(`${name}.example`);
      const { organizations } = (await t.ask('GET', '/organizations', { token })).body;
      const slug = expect.stringMatching(/^[a-z0-9](-?[a-z0-9]){0,38}$/);
      slugs.add(organizations[0].slug);
      expect(organizations).toMatchObject([{ role: 'owner', personal: true, slug }]);
    }
    expect([slugs.size, await rows(t, 'users'), await rows(t, 'sessions')]).toEqual([4, 4, 5]);
  });
});

/** Another well-formed code. */
const otherThan = (code: string, shift = 1): string =>
  [...code].map((c) => (c === '-' ? c : (Number(c) + shift) % 10)).join('');

/** How often codes were tried with a request. */
const attempts = async (t: TestApp, { token }: Link): Promise<number> => {
  const id = readHandle(t.ctx.keys, 'magicLink', token)!.subject.toString('base64url');
  const text = `SELECT code_tries AS n FROM magic_links WHERE id = '${id}'`;
  return Number((await t.ctx.db.read.run<{ n: number }>(text, []))[0]!.n);
};

onBothDatabases('mailed codes', (open) => {
  const t = fresh(open);

  test('a code works only with its own request, and attempts with other requests, or with what is no code, do not count against it', async () => {
    const [one, again] = [await linkFor(t, ada), await linkFor(t, ada)];
    const other = await linkFor(t, 'bob@example.com');
    const forged = one.request.slice(0, -1) + (one.request.endsWith('A') ? 'B' : 'A');
    const requests = [other.request, forged, one.token, one.token.replace('lk_ml_', 'lk_mr_'), 'x'];
    for (const request of [...requests, again.request])
      for (let n = 0; n < 6; n++) expect(await enter(t, request, one.code)).toBe(refused);
    for (const token of ['', 1, null, []]) {
      const json = { token, request: one.request, code: one.code };
      const { status, body } = await t.ask('POST', '/magic_link/verify', { json });
      expect([status, body.error]).toEqual([400, 'invalid_request']);
      expect(body.error_description).toStartWith('token: ');
    }
    // The user code of a device is none.
    const { user_code: userCode } = await startDevice(t);
    for (const typed of [userCode, userCode.toLowerCase(), userCode.replace('-', ' '), 'BCDF-GHJK'])
      for (let n = 0; n < 10; n++) expect(await enter(t, one.request, typed)).toBe(refused);
    expect(await attempts(t, one)).toBe(0);
    expect(await enter(t, one.request, one.code.replace('-', ' \u2013\u00a0'))).toBe('200');
  });

  test('of 40 concurrent guesses at most 5 are compared; then only the link signs in', async () => {
    const link = await linkFor(t, ada);
    const guesses = Array.from({ length: 40 }, (_, n) => otherThan(link.code, 1 + (n % 9)));
    const answers = await Promise.all(guesses.map((guess) => enter(t, link.request, guess)));
    expect(new Set(answers)).toEqual(new Set([refused]));
    expect(await attempts(t, link)).toBe(5);
    expect(await enter(t, link.request, link.code)).toBe(refused);
    expect(await follow(t, link.token)).toBe('200');
  });

  test('wrong, exhausted, spent, expired and unknown codes get the same answer, and what is like no code is an attempt, too', async () => {
    const [link, old] = [await linkFor(t, ada), await linkFor(t, ada)];
    const { request, code, token } = link;
    const bodies: object[] = [];
    const see = async (json: object) => {
      const { status, body } = await t.ask('POST', '/magic_link/verify', { json });
      bodies.push({ status, ...body, request_id: '' });
    };
    await see({ request: 'lk_mr_x', code: '1234-5678' });
    await see({ request, code: 'BCDF-GHJK' });
    for (const guess of [otherThan(code), 'short', '1234-567B', `${code}1`, otherThan(code, 2), code])
      await see({ request, code: guess });
    expect(await attempts(t, link)).toBe(5);
    await follow(t, token);
    await see({ request, code });
    t.pass(901);
    await see({ request: old.request, code: old.code });
    await see({ token: old.token });
    expect(bodies).toEqual(bodies.map(() => bodies[0]!));
    expect(bodies[0]).toMatchObject({ status: 400, error: 'invalid_grant' });
  });

  test('while sign-up is closed a new address gets signup_disabled for the code and the link, which work once it is open', async () => {
    const t = await open({ settings: { LATCHKEY_SIGNUP: 'closed' } });
    const [one, two] = [await linkFor(t, ada), await linkFor(t, 'bob@example.com')];
    for (let n = 0; n < 6; n++)
      for (const { request, code, token } of [one, two]) {
        expect(await enter(t, request, code)).toBe('403 signup_disabled');
        expect(await follow(t, token)).toBe('403 signup_disabled');
      }
    expect(await rows(t, 'users')).toBe(0);
    const opened = await open({ beside: t });
    const answers = [await enter(opened, one.request, one.code), await follow(opened, two.token)];
    expect(answers).toEqual(['200', '200']);
  });
});

async function issued(app: TestApp, email: string, create = false): Promise<string> {
  let link = '';
  await issueSignInLink(app.ctx, { email, create }, async (shown) => {
    link = shown;
  });
  expect(link).toStartWith(`${app.ctx.config.baseUrl}/magic-link#token=lk_ml_`);
  return link.split('#token=')[1]!;
}

onBothDatabases('an issued sign-in link', (open) => {
  test('signs in once, is in the security log, and its notice undoes everything since', async () => {
    const app = await open();
    const before = await app.login();
    const token = await issued(app, 'ADA@example.com');
    expect([await follow(app, token), await follow(app, token)]).toEqual(['200', refused]);
    const [event] = await loggedEvents(app, before, 'sign_in_link_issued');
    expect(event?.detail).toEqual({ by: 'operator' });
    const unused = await issued(app, ada);
    const undone = await disown(app, ada, 'A sign-in link to your Latchkey account was issued');
    expect([outcome(undone), undone.body.kind]).toEqual(['200', 'sign_in_link_issued']);
    expect(await follow(app, unused)).toBe(refused);
    expect(await isLive(app, before)).toBe(true);
  });

  test('expires, and is made for an address without an account only on request, also where sign-up is closed, and if it can be shown; for a disabled one never', async () => {
    const app = await open({ settings: { LATCHKEY_SIGNUP: 'closed', LATCHKEY_MAGIC_LINK_TTL: '60' } });
    const eve = 'eve@example.com';
    await expect(issued(app, eve)).rejects.toThrow('There is no account with this address.');
    const fail = () => Promise.reject(new Error('closed'));
    await expect(issueSignInLink(app.ctx, { email: eve, create: true }, fail)).rejects.toThrow('closed');
    for (const table of ['users', 'magic_links', 'outbox']) expect(await rows(app, table)).toBe(0);
    const expired = await issued(app, eve, true);
    app.pass(60);
    expect(await follow(app, expired)).toBe(refused);
    // The account is there now, and used.
    expect(await follow(app, await issued(app, eve, true))).toBe('200');
    expect(await rows(app, 'users')).toBe(1);
    await setDisabled(app.ctx, eve, true);
    for (const create of [false, true])
      await expect(issued(app, eve, create)).rejects.toMatchObject({ code: 'account_disabled' });
  });
});
