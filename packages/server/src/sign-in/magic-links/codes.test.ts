// Signing in with the code of a mail, on both databases.

import { expect, test } from 'bun:test';
import { outcome } from '../../../../../tests/support/account.ts';
import { type Mail, onBothDatabases, type TestApp } from '../../../../../tests/support/app.ts';
import { startDevice } from '../../../../../tests/support/devices.ts';
import { fresh } from '../../../../../tests/support/shared.ts';

interface Requested {
  readonly request: string;
  readonly mail: Mail;
}

/** Requests a mail; returns the request handle of the client and the mail. */
async function requestCode(t: TestApp, email = 'ada@example.com'): Promise<Requested> {
  const { body } = await t.ask('POST', '/magic_link', { json: { email } });
  const mails = await t.mails();
  return { request: body.request, mail: mails.find((mail) => mail.to === email)! };
}

const verify = async (t: TestApp, json: object): Promise<string> =>
  outcome(await t.ask('POST', '/magic_link/verify', { json }));
const enter = (t: TestApp, request: string, code: string) => verify(t, { request, code });
const follow = (t: TestApp, token: string) => verify(t, { token });

const refused = '400 invalid_grant';

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

  test('a correct code for an address that may not sign up is not spent', async () => {
    const t = await open({ settings: { LATCHKEY_SIGNUP: 'closed' } });
    const { request, mail } = await requestCode(t);
    for (let n = 0; n < 6; n++) expect(await enter(t, request, mail.code)).toBe('403 signup_disabled');
    const opened = await open({ beside: t });
    expect(await enter(opened, request, mail.code)).toBe('200');
  });
});
