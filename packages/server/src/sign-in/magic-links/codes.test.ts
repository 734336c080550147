// Signing in with the code of a mail, on both databases.

import { expect, test } from 'bun:test';
import { type Answer, type Mail, onBothDatabases, type TestApp } from '../../../../../tests/support/app.ts';
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

const enter = (t: TestApp, request: string, code: string): Promise<Answer> =>
  t.ask('POST', '/magic_link/verify', { json: { request, code } });

const follow = (t: TestApp, token: string): Promise<Answer> =>
  t.ask('POST', '/magic_link/verify', { json: { token } });

const outcome = (answer: Answer): string =>
  answer.status === 200 ? 'signed in' : `${answer.status} ${answer.body.error}`;

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
    for (let n = 0; n < 6; n++)
      expect(outcome(await enter(t, two.request, one.mail.code))).toBe('400 invalid_grant');
    const forged = one.request.slice(0, -1) + (one.request.endsWith('A') ? 'B' : 'A');
    for (const request of [forged, one.mail.token, one.mail.token.replace('lk_ml_', 'lk_mr_'), 'x']) {
      for (let n = 0; n < 6; n++)
        expect(outcome(await enter(t, request, one.mail.code))).toBe('400 invalid_grant');
    }
    expect(outcome(await enter(t, one.request, one.mail.code))).toBe('signed in');
  });

  test('a request accepts only the code of its own mail, not of another mail to the same address', async () => {
    const [first, second] = [await requestCode(t), await requestCode(t)];
    expect(first.mail.code).not.toBe(second.mail.code);
    expect(outcome(await enter(t, first.request, second.mail.code))).toBe('400 invalid_grant');
    const typed = second.mail.code.replace('-', ' \u2013\u00a0');
    expect(outcome(await enter(t, second.request, typed))).toBe('signed in');
  });

  test('after 4 wrong attempts the right code still works; after 5 only the link does', async () => {
    for (const wrong of [4, 5]) {
      const { request, mail } = await requestCode(t, `wrong-${wrong}@example.com`);
      const guesses = [otherThan(mail.code), 'short', '1234-567B', `${mail.code}1`, otherThan(mail.code, 2)];
      for (const guess of guesses.slice(0, wrong))
        expect(outcome(await enter(t, request, guess))).toBe('400 invalid_grant');
      expect(outcome(await enter(t, request, mail.code))).toBe(wrong < 5 ? 'signed in' : '400 invalid_grant');
      expect(outcome(await follow(t, mail.token))).toBe(wrong < 5 ? '400 invalid_grant' : 'signed in');
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
    expect(outcome(await enter(t, request, mail.code))).toBe('signed in');
  });

  test('the user code of a device is refused as a wrong code, and is no attempt', async () => {
    const { request, mail } = await requestCode(t);
    const { body: device } = await t.ask('POST', '/device');
    const { user_code: userCode } = device;
    for (const typed of [userCode, userCode.toLowerCase(), userCode.replace('-', ' '), 'BCDF-GHJK'])
      for (let n = 0; n < 40; n++) expect(outcome(await enter(t, request, typed))).toBe('400 invalid_grant');
    expect(await attempts(t)).toBe(0);
    expect(outcome(await enter(t, request, mail.code))).toBe('signed in');
  });

  test('of 40 concurrent guesses at most 5 are compared', async () => {
    const { request, mail } = await requestCode(t);
    const guesses = Array.from({ length: 40 }, (_, n) => otherThan(mail.code, 1 + (n % 9)));
    const answers = await Promise.all(guesses.map((guess) => enter(t, request, guess)));
    expect(new Set(answers.map(outcome))).toEqual(new Set(['400 invalid_grant']));
    expect(await attempts(t)).toBe(5);
    const late = await enter(t, request, mail.code);
    expect(outcome(late)).toBe('400 invalid_grant');
    expect(outcome(await follow(t, mail.token))).toBe('signed in');
  });

  test('wrong, exhausted, spent, expired and unknown codes get the same answer', async () => {
    const wrong = await requestCode(t);
    const answers = [
      await enter(t, wrong.request, otherThan(wrong.mail.code)),
      await enter(t, 'lk_mr_x', '1234-5678'),
      await enter(t, wrong.request, 'BCDF-GHJK'),
    ];
    for (let n = 0; n < 5; n++) await enter(t, wrong.request, otherThan(wrong.mail.code));
    answers.push(await enter(t, wrong.request, wrong.mail.code));
    await follow(t, wrong.mail.token);
    answers.push(await enter(t, wrong.request, wrong.mail.code));
    const old = await requestCode(t);
    t.pass(901);
    answers.push(await enter(t, old.request, old.mail.code), await follow(t, old.mail.token));
    const bodies = answers.map(({ status, body }) => ({ status, ...body, request_id: '' }));
    for (const body of bodies) expect(body).toEqual(bodies[0]!);
    expect(bodies[0]!.error).toBe('invalid_grant');
  });

  test('a correct code for an address that may not sign up is not spent', async () => {
    const t = await open({ settings: { LATCHKEY_SIGNUP: 'closed' } });
    const { request, mail } = await requestCode(t);
    for (let n = 0; n < 6; n++)
      expect(outcome(await enter(t, request, mail.code))).toBe('403 signup_disabled');
    const opened = await open({ beside: t });
    expect(outcome(await enter(opened, request, mail.code))).toBe('signed in');
  });
});
