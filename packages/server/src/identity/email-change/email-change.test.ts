import { expect, test } from 'bun:test';
import {
  addPasskey,
  askForAddress,
  linkTokenFor,
  mailsTo,
  newAuthenticator,
  outcome,
  signInByMail,
  subjects,
  verifyAddress,
} from '../../../../../tests/support/account.ts';
import { onBothDatabases, type TestApp, type Tokens } from '../../../../../tests/support/app.ts';
import { fresh } from '../../../../../tests/support/shared.ts';

const ada = 'ada@example.com';
const next = 'ada@new.example';
const day = 86_400;

const me = async (app: TestApp, { access_token: token }: Tokens) =>
  (await app.ask('GET', '/me', { token })).body;

onBothDatabases('email change', (open) => {
  const app = fresh(open);

  test('the link in the mail to the new address changes the address once, and all sessions stay active', async () => {
    const tokens = await app.login(ada);
    const before = await app.ask('GET', '/me', { token: tokens.access_token });
    const token = await askForAddress(app, tokens, next);
    expect(token).toMatch(/^lk_ec_[\w-]{80}$/);
    expect((await me(app, tokens)).email).toBe(ada);
    const { status, body } = await verifyAddress(app, token);
    expect(status).toBe(200);
    expect(body).toEqual({ ...before.body, email: next, updated_at: body.updated_at });
    const after = await app.ask('GET', '/me', { token: tokens.access_token });
    expect(after.body).toEqual(body);
    expect(after.headers.get('ETag')).not.toBe(before.headers.get('ETag'));
    expect(outcome(await verifyAddress(app, token))).toBe('400 invalid_grant');
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
    expect(outcome(await verifyAddress(app, token))).toBe('409 conflict');
    expect((await me(app, tokens)).email).toBe(ada);
    await app.ask('DELETE', '/me', { token: other.access_token });
    expect(outcome(await verifyAddress(app, token))).toBe('200');
  });

  test('the link stops working when it expires and when the session that requested it ends', async () => {
    const late = await askForAddress(app, await app.login(ada), next);
    app.pass(3600);
    expect(outcome(await verifyAddress(app, late))).toBe('400 invalid_grant');
    for (const end of ['/revoke', '/revoke?scope=session']) {
      const tokens = await app.login(ada);
      const token = await askForAddress(app, tokens, next);
      await app.ask('POST', end, { token: tokens.access_token });
      expect(outcome(await verifyAddress(app, token))).toBe('400 invalid_grant');
    }
  });

  test('the same address in another letter case replaces the old spelling; the same spelling changes nothing and sends no notice', async () => {
    const tokens = await app.login(ada);
    const spelled = await askForAddress(app, tokens, 'Ada@Example.com');
    expect((await verifyAddress(app, spelled)).body.email).toBe('Ada@Example.com');
    expect((await signInByMail(app, ada)).status).toBe(200);
    const same = await askForAddress(app, tokens, 'Ada@Example.com');
    expect(outcome(await verifyAddress(app, same))).toBe('200');
    expect(await mailsTo(app, 'Ada@Example.com', subjects.emailChanged)).toHaveLength(0);
  });

  test('of two accounts that change to the same address in parallel one gets it and the other a conflict', async () => {
    for (let round = 0; round < 5; round++) {
      const address = `wanted-${round}@new.example`;
      const people = [await app.login(`a${round}@example.com`), await app.login(`b${round}@example.com`)];
      const tokens = [];
      for (const person of people) tokens.push(await askForAddress(app, person, address));
      const answers = await Promise.all(tokens.map((token) => verifyAddress(app, token)));
      expect(answers.map(outcome).sort()).toEqual(['200', '409 conflict']);
    }
  });

  test('a parallel sign-up with the new address leaves one account with it and causes no error', async () => {
    for (let round = 0; round < 8; round++) {
      const address = `raced-${round}@new.example`;
      const token = await askForAddress(app, await app.login(`c${round}@example.com`), address);
      const link = await linkTokenFor(app, address);
      const [changed, signedIn] = await Promise.all([
        verifyAddress(app, token),
        app.ask('POST', '/magic_link/verify', { json: { token: link } }),
      ]);
      expect(['200', '409 conflict']).toContain(outcome(changed));
      expect(outcome(signedIn)).toBe('200');
      const rows = await app.ctx.db.read.run(`SELECT id FROM users WHERE email = '${address}'`, []);
      expect(rows).toHaveLength(1);
    }
  });

  test('after the change, a sign-in link to the old address creates no account for 7 days', async () => {
    const tokens = await app.login(ada);
    const token = await askForAddress(app, tokens, next);
    const inFlight = await linkTokenFor(app, ada);
    await verifyAddress(app, token);
    const used = await app.ask('POST', '/magic_link/verify', { json: { token: inFlight } });
    expect(outcome(used)).toBe('403 signup_disabled');
    app.pass(7 * day - 60);
    expect(outcome(await signInByMail(app, ada))).toBe('403 signup_disabled');
    app.pass(61);
    const signedIn = await signInByMail(app, ada);
    expect(outcome(signedIn)).toBe('200');
    expect((await me(app, signedIn.body)).id).not.toBe(
      (await me(app, (await signInByMail(app, next)).body)).id,
    );
  });

  test('an account can change back to its previous address, which no other account can take meanwhile', async () => {
    const [tokens, bob] = [await app.login(ada), await app.login('bob@example.com')];
    await verifyAddress(app, await askForAddress(app, tokens, next));
    expect(await askForAddress(app, bob, ada)).toBe('');
    expect(await mailsTo(app, ada, subjects.taken)).toHaveLength(1);
    expect((await verifyAddress(app, await askForAddress(app, tokens, ada))).body.email).toBe(ada);
  });

  test('if sign-up is restricted to domains, an address of another domain is refused', async () => {
    const app = await open({ settings: { LATCHKEY_SIGNUP: 'example.com' } });
    const { access_token: token } = await app.login(ada);
    const ask = (email: string) => app.ask('POST', '/me/email', { token, json: { email } });
    expect(outcome(await ask('ada@gmail.example'))).toBe('403 signup_disabled');
    expect(outcome(await ask('lovelace@EXAMPLE.com'))).toBe('202');
  });

  test('expired changes and their notices are swept', async () => {
    const tokens = await app.login(ada);
    await addPasskey(app, tokens, newAuthenticator(app));
    await verifyAddress(app, await askForAddress(app, tokens, next));
    app.pass(8 * day + 1);
    await app.sweep();
    expect(await app.ctx.db.read.run('SELECT id FROM notices', [])).toEqual([]);
    expect(await app.ctx.db.read.run('SELECT id FROM email_changes', [])).toHaveLength(1);
    app.pass(30 * day);
    await app.sweep();
    expect(await app.ctx.db.read.run('SELECT id FROM email_changes', [])).toEqual([]);
  });
});
