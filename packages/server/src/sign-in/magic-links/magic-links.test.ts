// Signing in with the link of a mail, on both databases.

import { expect, test } from 'bun:test';
import { linkTokenFor, outcome } from '../../../../../tests/support/account.ts';
import { onBothDatabases, type TestApp, type Tokens } from '../../../../../tests/support/app.ts';
import { setDisabled } from '../../identity/account/account.ts';

const ada = 'ada@example.com';

const verify = async (t: TestApp, token: string, email?: string): Promise<string> =>
  outcome(await t.ask('POST', '/magic_link/verify', { json: { token, ...(email && { email }) } }));

/** Signs in with the link of a mail to this address. */
const signIn = async (t: TestApp, email = ada): Promise<string> => verify(t, await linkTokenFor(t, email));

const profileOf = async (t: TestApp, { access_token: token }: Tokens) =>
  (await t.ask('GET', '/me', { token })).body;

const rows = async (t: TestApp, table: string): Promise<number> =>
  (await t.ctx.db.read.run(`SELECT id FROM ${table}`, [])).length;

onBothDatabases('magic links', (open) => {
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
    const t = await open();
    const other = await linkTokenFor(t, 'bob@example.com');
    const first = await profileOf(t, await t.login('Ada@Example.com'));
    const lower = await linkTokenFor(t, ada);
    const again = await profileOf(t, await t.login('aDA@eXAMPLE.COM'));
    expect(again).toEqual(first);
    expect(again.email).toBe('Ada@Example.com');
    expect(await verify(t, lower)).toBe('400 invalid_grant');
    expect(await verify(t, other)).toBe('200');
    expect(await signIn(t)).toBe('200');
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
      const { id, email: stored } = await profileOf(t, await t.login(email));
      expect(stored).toBe(email);
      ids.add(id);
    }
    expect(ids.size).toBe(addresses.length);
  });

  test('a preview tells how long a link still works, spends nothing, and refuses a link that is used or has expired', async () => {
    const t = await open();
    const [used, expiring] = [await linkTokenFor(t, ada), await linkTokenFor(t, 'late@example.com')];
    const preview = async (token: string) =>
      (await t.ask('POST', '/magic_link/preview', { json: { token } })).body;
    for (let count = 0; count < 3; count++) expect(await preview(used)).toEqual({ expires_in: 900 });
    t.pass(600);
    expect(await preview(expiring)).toEqual({ expires_in: 300 });
    expect(await verify(t, used)).toBe('200');
    t.pass(300);
    for (const token of [used, expiring, `${expiring}x`])
      expect((await preview(token)).error).toBe('invalid_grant');
    expect(await verify(t, expiring)).toBe('400 invalid_grant');
    expect(await rows(t, 'users')).toBe(1);
  });

  test('a wrong address beside the token, and GET and HEAD requests, spend no link; the correct address signs in in any letter case', async () => {
    const t = await open();
    const token = await linkTokenFor(t, ada);
    for (const email of ['eve@example.com', 'ada@example.co', '\u0430da@example.com', 'x'])
      expect(await verify(t, token, email)).toBe('400 invalid_grant');
    for (const method of ['GET', 'HEAD']) {
      for (const page of ['magic-link', `magic-link?token=${token}`, 'login'])
        expect((await t.ask(method, page)).status).toBe(200);
      expect((await t.ask(method, `/magic_link/verify?token=${token}`)).status).toBe(405);
    }
    expect(await verify(t, token, 'ADA@EXAMPLE.com')).toBe('200');
  });

  test('while sign-up is closed a new address gets signup_disabled, and its link works once sign-up is open', async () => {
    const t = await open({ settings: { LATCHKEY_SIGNUP: 'closed' } });
    const token = await linkTokenFor(t, ada);
    for (let n = 0; n < 2; n++) expect(await verify(t, token)).toBe('403 signup_disabled');
    expect(await rows(t, 'users')).toBe(0);
    const opened = await open({ beside: t });
    expect([await verify(opened, token), await signIn(t)]).toEqual(['200', '200']);
  });

  test('LATCHKEY_SIGNUP with domains allows exactly these, in any letter case', async () => {
    const t = await open({ settings: { LATCHKEY_SIGNUP: 'Example.com, corp.example' } });
    for (const domain of ['example.com', 'EXAMPLE.COM', 'corp.example'])
      expect(await signIn(t, `a@${domain}`)).toBe('200');
    for (const domain of ['sub.example.com', 'notexample.com', 'example.com.evil.example', 'example.co'])
      expect(await signIn(t, `a@${domain}`)).toBe('403 signup_disabled');
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
    const counts = [await rows(t, 'users'), await rows(t, 'organizations'), await rows(t, 'sessions')];
    expect(counts).toEqual([1, 1, 3]);
  });
});
