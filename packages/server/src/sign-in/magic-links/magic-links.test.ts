// Signing in with the link of a mail, on both databases.

import { expect, test } from 'bun:test';
import { type Answer, onBothDatabases, type TestApp } from '../../../../../tests/support/app.ts';
import { setDisabled } from '../../identity/account/account.ts';

const ada = 'ada@example.com';

const request = (t: TestApp, email = ada): Promise<Answer> =>
  t.ask('POST', '/magic_link', { json: { email } });

const verify = (t: TestApp, token: string, email?: string): Promise<Answer> =>
  t.ask('POST', '/magic_link/verify', { json: { token, ...(email === undefined ? {} : { email }) } });

/** Requests a mail and returns the token of its link. */
async function linkFor(t: TestApp, email = ada): Promise<string> {
  await request(t, email);
  const mails = await t.mails();
  return mails.find((mail) => mail.to === email)!.token;
}

const outcomes = (answers: readonly Answer[]): string[] =>
  answers
    .map((answer) => (answer.status === 200 ? 'signed in' : `${answer.status} ${answer.body.error}`))
    .sort();

const profileOf = async (t: TestApp, answer: Answer) =>
  (await t.ask('GET', '/me', { token: answer.body.access_token })).body;

const rows = async (t: TestApp, table: string): Promise<number> => {
  const [row] = await t.ctx.db.read.run<{ n: number }>(`SELECT count(*) AS n FROM ${table}`, []);
  return Number(row!.n);
};

onBothDatabases('magic links', (open) => {
  test('known, unknown, disabled and disallowed addresses get the same answer after the same statements', async () => {
    const t = await open({ settings: { LATCHKEY_SIGNUP: 'example.com' } });
    await t.login('known@example.com');
    await t.login('disabled@example.com');
    await setDisabled(t.ctx, 'disabled@example.com', true);
    const answers = [];
    for (const email of [
      'known@example.com',
      'new@example.com',
      'disabled@example.com',
      'out@elsewhere.example',
    ]) {
      const before = t.statements.length;
      const { status, body, headers } = await request(t, email);
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

  test('signing in spends every other link to that address in any letter case, and to no other address', async () => {
    const t = await open();
    const [lower, upper, other] = [
      await linkFor(t),
      await linkFor(t, 'ADA@Example.COM'),
      await linkFor(t, 'bob@example.com'),
    ];
    expect((await verify(t, upper)).status).toBe(200);
    expect(outcomes([await verify(t, lower)])).toEqual(['400 invalid_grant']);
    expect((await verify(t, other)).status).toBe(200);
    const later = await linkFor(t);
    expect((await verify(t, later)).status).toBe(200);
  });

  test('addresses that differ in ASCII letter case share an account, which keeps the first spelling', async () => {
    const t = await open();
    const first = await profileOf(t, await verify(t, await linkFor(t, 'Ada@Example.com')));
    const again = await profileOf(t, await verify(t, await linkFor(t, 'aDA@eXAMPLE.COM')));
    expect(again).toEqual(first);
    expect(again.email).toBe('Ada@Example.com');
  });

  test('addresses with lookalike letters, or that differ outside ASCII, are different accounts', async () => {
    const t = await open();
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
      const { id, email: stored } = await profileOf(t, await verify(t, await linkFor(t, email)));
      expect(stored).toBe(email);
      ids.add(id);
    }
    expect(ids.size).toBe(addresses.length);
  });

  test('a link works until it expires and not after', async () => {
    const t = await open({ settings: { LATCHKEY_MAGIC_LINK_TTL: '900' } });
    const [valid, expired] = [await linkFor(t), await linkFor(t, 'bob@example.com')];
    t.pass(890);
    expect((await verify(t, valid)).status).toBe(200);
    t.pass(11);
    expect(outcomes([await verify(t, expired)])).toEqual(['400 invalid_grant']);
    expect(await rows(t, 'users')).toBe(1);
  });

  test('a preview tells how long a link still works, spends nothing, and refuses a link that is used or has expired', async () => {
    const t = await open();
    const [used, expiring] = [await linkFor(t), await linkFor(t, 'late@example.com')];
    const preview = (token: string) => t.ask('POST', '/magic_link/preview', { json: { token } });
    for (let count = 0; count < 3; count++) expect((await preview(used)).body).toEqual({ expires_in: 900 });
    t.pass(600);
    expect((await preview(expiring)).body).toEqual({ expires_in: 300 });
    expect((await verify(t, used)).status).toBe(200);
    expect((await preview(used)).body.error).toBe('invalid_grant');
    t.pass(300);
    expect((await preview(expiring)).body.error).toBe('invalid_grant');
    expect((await preview(`${expiring}x`)).body.error).toBe('invalid_grant');
  });

  test('a wrong address beside the token does not spend the link; the correct one signs in in any letter case', async () => {
    const t = await open();
    const token = await linkFor(t);
    for (const email of ['eve@example.com', 'ada@example.co', '\u0430da@example.com', 'x']) {
      expect(outcomes([await verify(t, token, email)])).toEqual(['400 invalid_grant']);
    }
    expect((await verify(t, token, 'ADA@EXAMPLE.com')).status).toBe(200);
  });

  test('GET and HEAD requests for pages and the API spend no link', async () => {
    const t = await open();
    const token = await linkFor(t);
    for (const method of ['GET', 'HEAD']) {
      expect((await t.ask(method, 'magic-link')).status).toBe(200);
      expect((await t.ask(method, `magic-link?token=${token}`)).status).toBe(200);
      expect((await t.ask(method, 'login')).status).toBe(200);
      expect((await t.ask(method, `/magic_link/verify?token=${token}`)).status).toBe(405);
    }
    expect((await verify(t, token)).status).toBe(200);
  });

  test('while sign-up is closed a new address gets signup_disabled, and its link works once sign-up is open', async () => {
    const t = await open({ settings: { LATCHKEY_SIGNUP: 'closed' } });
    const token = await linkFor(t);
    for (let n = 0; n < 2; n++) expect(outcomes([await verify(t, token)])).toEqual(['403 signup_disabled']);
    expect(await rows(t, 'users')).toBe(0);
    const opened = await open({ beside: t });
    expect((await verify(opened, token)).status).toBe(200);
    const known = await linkFor(t);
    expect((await verify(t, known)).status).toBe(200);
  });

  test('LATCHKEY_SIGNUP with domains allows exactly these, in any letter case', async () => {
    const t = await open({ settings: { LATCHKEY_SIGNUP: 'Example.com, corp.example' } });
    for (const email of ['a@example.com', 'b@EXAMPLE.COM', 'c@corp.example']) {
      expect((await verify(t, await linkFor(t, email))).status).toBe(200);
    }
    for (const email of [
      'a@sub.example.com',
      'b@notexample.com',
      'c@example.com.evil.example',
      'd@example.co',
    ]) {
      expect(outcomes([await verify(t, await linkFor(t, email))])).toEqual(['403 signup_disabled']);
    }
    expect(await rows(t, 'users')).toBe(3);
  });

  test('the first sign-in creates the account with a personal organization that it owns', async () => {
    const t = await open();
    for (let n = 0; n < 3; n++) {
      const { access_token } = await t.login();
      const { body } = await t.ask('GET', '/organizations', { token: access_token });
      expect(body.organizations).toEqual([
        expect.objectContaining({ role: 'owner', personal: true, slug: expect.stringMatching(/^ada-/) }),
      ]);
    }
    expect([await rows(t, 'users'), await rows(t, 'organizations'), await rows(t, 'sessions')]).toEqual([
      1, 1, 3,
    ]);
  });
});
