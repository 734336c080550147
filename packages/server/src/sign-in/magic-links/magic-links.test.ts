// Signing in with the link or the code of a mail, or with a link that an operator issues, on both databases.

import { expect, test } from 'bun:test';
import { disown, isLive, linkTokenFor, outcome } from '#support/account.ts';
import { type Mail, onBothDatabases, type TestApp, type Tokens } from '#support/app.ts';
import { startDevice } from '#support/devices.ts';
import { loggedEvents } from '#support/security-log.ts';
import { fresh } from '#support/shared.ts';
import { setDisabled } from '../../identity/account/account.ts';
import { issueSignInLink } from './magic-links.ts';

const ada = 'ada@example.com';
const refused = '400 invalid_grant';

const verify = async (t: TestApp, json: object): Promise<string> =>
  outcome(await t.ask('POST', '/magic_link/verify', { json }));
const follow = (t: TestApp, token: string) => verify(t, { token });
const enter = (t: TestApp, request: string, code: string) => verify(t, { request, code });

/** Signs in with the link of a mail to this address. */
const signIn = async (t: TestApp, email = ada): Promise<string> => follow(t, await linkTokenFor(t, email));

const profileOf = async (t: TestApp, { access_token: token }: Tokens) =>
  (await t.ask('GET', '/me', { token })).body;

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

  test('addresses that differ in ASCII letter case share an account, which keeps the first spelling; signing in spends their other links', async () => {
    const other = await linkTokenFor(t, 'bob@example.com');
    const first = await profileOf(t, await t.login('Ada@Example.com'));
    const lower = await linkTokenFor(t, ada);
    const again = await profileOf(t, await t.login('aDA@eXAMPLE.COM'));
    expect(again).toEqual(first);
    expect(again.email).toBe('Ada@Example.com');
    expect(await follow(t, lower)).toBe(refused);
    expect(await follow(t, other)).toBe('200');
    expect(await signIn(t)).toBe('200');
  });

  test('addresses with lookalike letters, or that differ outside ASCII, are different accounts', async () => {
    const addresses = [
      'mike@example.com',
      'mi\u212Ae@example.com', // KELVIN SIGN
      'm\u0131ke@example.com', // dotless i
      'm\u0456ke@example.com', // Cyrillic i
      '\u00fcte@example.com',
      '\u00dcte@example.com',
      'u\u0308te@example.com',
    ];
    const ids = new Set<string>();
    for (const email of addresses) {
      const { id, email: stored } = await profileOf(t, await t.login(email));
      expect(stored).toBe(email);
      ids.add(id);
    }
    expect(ids.size).toBe(addresses.length);
  });

  test('a preview tells how long a link still works, spends nothing, and refuses a link that is used or has expired', async () => {
    const [used, expiring] = [await linkTokenFor(t, ada), await linkTokenFor(t, 'late@example.com')];
    const preview = async (token: string) =>
      (await t.ask('POST', '/magic_link/preview', { json: { token } })).body;
    for (let count = 0; count < 3; count++) expect(await preview(used)).toEqual({ expires_in: 900 });
    t.pass(600);
    expect(await preview(expiring)).toEqual({ expires_in: 300 });
    expect(await follow(t, used)).toBe('200');
    t.pass(300);
    for (const token of [used, expiring, `${expiring}x`])
      expect((await preview(token)).error).toBe('invalid_grant');
    expect(await follow(t, expiring)).toBe(refused);
    expect(await rows(t, 'users')).toBe(1);
  });

  test('a wrong address beside the token, and GET and HEAD requests, spend no link; the correct address signs in in any letter case', async () => {
    const token = await linkTokenFor(t, ada);
    for (const email of ['eve@example.com', 'ada@example.co', '\u0430da@example.com', 'x'])
      expect(await verify(t, { token, email })).toBe(refused);
    for (const method of ['GET', 'HEAD']) {
      for (const page of ['magic-link', `magic-link?token=${token}`, 'login'])
        expect((await t.ask(method, page)).status).toBe(200);
      expect((await t.ask(method, `/magic_link/verify?token=${token}`)).status).toBe(405);
    }
    expect(await verify(t, { token, email: 'ADA@EXAMPLE.com' })).toBe('200');
  });

  test('LATCHKEY_SIGNUP with domains allows exactly these, in any letter case', async () => {
    const t = await open({ settings: { LATCHKEY_SIGNUP: 'Example.com, corp.example' } });
    for (const domain of ['example.com', 'EXAMPLE.COM', 'corp.example'])
      expect(await signIn(t, `a@${domain}`)).toBe('200');
    for (const domain of ['sub.example.com', 'notexample.com', 'example.com.evil.example', 'example.co'])
      expect(await signIn(t, `a@${domain}`)).toBe('403 signup_disabled');
  });

  test('the first sign-in creates the account with a personal organization that it owns', async () => {
    for (let n = 0; n < 3; n++) {
      const { access_token } = await t.login();
      const { body } = await t.ask('GET', '/organizations', { token: access_token });
      expect(body.organizations).toEqual([
        expect.objectContaining({ role: 'owner', personal: true, slug: expect.stringMatching(/^ada-/) }),
      ]);
    }
    const counts = [await rows(t, 'users'), await rows(t, 'organizations'), await rows(t, 'sessions')];
    expect(counts).toEqual([1, 1, 3]);
  });
});

interface Requested {
  readonly request: string;
  readonly mail: Mail;
}

/** Requests a mail; returns the request handle of the client and the mail. */
async function requestCode(t: TestApp, email = ada): Promise<Requested> {
  const { body } = await t.ask('POST', '/magic_link', { json: { email } });
  const mails = await t.mails();
  return { request: body.request, mail: mails.find((mail) => mail.to === email)! };
}

/** Another well-formed code. */
const otherThan = (code: string, shift = 1): string =>
  [...code].map((c) => (c === '-' ? c : (Number(c) + shift) % 10)).join('');

const attempts = async (t: TestApp): Promise<number> => {
  const [row] = await t.ctx.db.read.run<{ n: number }>('SELECT code_tries AS n FROM magic_links', []);
  return Number(row!.n);
};

onBothDatabases('mailed codes', (open) => {
  const t = fresh(open);

  test('a code works only with its own request, and attempts with other requests do not count against it', async () => {
    const [one, two] = [await requestCode(t), await requestCode(t, 'bob@example.com')];
    for (let n = 0; n < 6; n++) expect(await enter(t, two.request, one.mail.code)).toBe(refused);
    const forged = one.request.slice(0, -1) + (one.request.endsWith('A') ? 'B' : 'A');
    for (const request of [forged, one.mail.token, one.mail.token.replace('lk_ml_', 'lk_mr_'), 'x']) {
      for (let n = 0; n < 6; n++) expect(await enter(t, request, one.mail.code)).toBe(refused);
    }
    expect(await enter(t, one.request, one.mail.code)).toBe('200');
  });

  test('a request accepts only the code of its own mail, not of another mail to the same address', async () => {
    const [first, second] = [await requestCode(t), await requestCode(t)];
    expect(first.mail.code).not.toBe(second.mail.code);
    expect(await enter(t, first.request, second.mail.code)).toBe(refused);
    const typed = second.mail.code.replace('-', ' \u2013\u00a0');
    expect(await enter(t, second.request, typed)).toBe('200');
  });

  test('after 4 wrong attempts the right code still works; after 5 only the link does', async () => {
    for (const wrong of [4, 5]) {
      const { request, mail } = await requestCode(t, `wrong-${wrong}@example.com`);
      const guesses = [otherThan(mail.code), 'short', '1234-567B', `${mail.code}1`, otherThan(mail.code, 2)];
      for (const guess of guesses.slice(0, wrong)) expect(await enter(t, request, guess)).toBe(refused);
      expect(await enter(t, request, mail.code)).toBe(wrong < 5 ? '200' : refused);
      expect(await follow(t, mail.token)).toBe(wrong < 5 ? refused : '200');
    }
  });

  test('a malformed token beside a valid code is refused by name and does not spend the code', async () => {
    const { request, mail } = await requestCode(t);
    for (const token of ['', 1, null, []]) {
      const json = { token, request, code: mail.code };
      const { status, body } = await t.ask('POST', '/magic_link/verify', { json });
      expect([status, body.error]).toEqual([400, 'invalid_request']);
      expect(body.error_description).toStartWith('token: ');
    }
    expect(await enter(t, request, mail.code)).toBe('200');
  });

  test('the user code of a device is refused as a wrong code, and is no attempt', async () => {
    const { request, mail } = await requestCode(t);
    const { user_code: userCode } = await startDevice(t);
    for (const typed of [userCode, userCode.toLowerCase(), userCode.replace('-', ' '), 'BCDF-GHJK'])
      for (let n = 0; n < 40; n++) expect(await enter(t, request, typed)).toBe(refused);
    expect(await attempts(t)).toBe(0);
    expect(await enter(t, request, mail.code)).toBe('200');
  });

  test('of 40 concurrent guesses at most 5 are compared', async () => {
    const { request, mail } = await requestCode(t);
    const guesses = Array.from({ length: 40 }, (_, n) => otherThan(mail.code, 1 + (n % 9)));
    const answers = await Promise.all(guesses.map((guess) => enter(t, request, guess)));
    expect(new Set(answers)).toEqual(new Set([refused]));
    expect(await attempts(t)).toBe(5);
    expect(await enter(t, request, mail.code)).toBe(refused);
    expect(await follow(t, mail.token)).toBe('200');
  });

  test('wrong, exhausted, spent, expired and unknown codes get the same answer', async () => {
    const { request, mail } = await requestCode(t);
    const old = await requestCode(t);
    const { token } = mail;
    const bodies: object[] = [];
    const see = async (json: object) => {
      const { status, body } = await t.ask('POST', '/magic_link/verify', { json });
      bodies.push({ status, ...body, request_id: '' });
    };
    await see({ request: 'lk_mr_x', code: '1234-5678' });
    await see({ request, code: 'BCDF-GHJK' });
    for (let n = 0; n < 5; n++) await see({ request, code: otherThan(mail.code) });
    await see({ request, code: mail.code });
    await follow(t, token);
    await see({ request, code: mail.code });
    t.pass(901);
    await see({ request: old.request, code: old.mail.code });
    await see({ token: old.mail.token });
    expect(bodies).toEqual(bodies.map(() => bodies[0]!));
    expect(bodies[0]).toMatchObject({ status: 400, error: 'invalid_grant' });
  });

  test('while sign-up is closed a new address gets signup_disabled for the code and the link, which work once it is open', async () => {
    const t = await open({ settings: { LATCHKEY_SIGNUP: 'closed' } });
    const [one, two] = [await requestCode(t), await requestCode(t, 'bob@example.com')];
    for (let n = 0; n < 6; n++)
      for (const { request, mail } of [one, two]) {
        expect(await enter(t, request, mail.code)).toBe('403 signup_disabled');
        expect(await follow(t, mail.token)).toBe('403 signup_disabled');
      }
    expect(await rows(t, 'users')).toBe(0);
    const opened = await open({ beside: t });
    const answers = [await enter(opened, one.request, one.mail.code), await follow(opened, two.mail.token)];
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

  test('expires, and is made for an address without an account only on request, also where sign-up is closed', async () => {
    const app = await open({ settings: { LATCHKEY_SIGNUP: 'closed', LATCHKEY_MAGIC_LINK_TTL: '60' } });
    await expect(issued(app, 'eve@example.com')).rejects.toThrow('There is no account with this address.');
    const expired = await issued(app, 'eve@example.com', true);
    app.pass(60);
    expect(await follow(app, expired)).toBe(refused);
    // The account is there now, and used.
    expect(await follow(app, await issued(app, 'eve@example.com', true))).toBe('200');
    expect(await rows(app, 'users')).toBe(1);
  });

  test('does not come into being, nor does its account, when it cannot be shown', async () => {
    const app = await open();
    const fail = () => Promise.reject(new Error('closed'));
    const made = issueSignInLink(app.ctx, { email: 'eve@example.com', create: true }, fail);
    await expect(made).rejects.toThrow('closed');
    for (const table of ['users', 'magic_links', 'outbox']) expect(await rows(app, table)).toBe(0);
  });
});
