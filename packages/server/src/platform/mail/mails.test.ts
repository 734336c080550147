// What every mail has: the product, the language and the times of its reader.

import { expect, test } from 'bun:test';
import { languages } from '@latchkey/contract/languages';
import type { NoticeKind } from '@latchkey/contract/notices';
import { fillText } from '@latchkey/contract/texts';
import { disown, outcome, tokenIn } from '#support/account.ts';
import { type Mail, onBothDatabases, openApp, type TestApp } from '#support/app.ts';
import { patchMe, signedIn } from '#support/security-log.ts';
import { fresh } from '#support/shared.ts';
import { notify } from '../../security-log/notices/notices.ts';
import { noClient } from '../values/client-address.ts';
import { mailTexts } from './texts/texts.ts';

const ada = 'ada@example.com';
const name = '<script>alert(1)</script> & "Co"';
const settings = {
  LATCHKEY_PRODUCT_NAME: name,
  LATCHKEY_SUPPORT_URL: 'https://help.acme.example/a?b=1&c=2',
  LATCHKEY_REFRESH_REUSE_LEEWAY: '0',
  LATCHKEY_RATE_LIMITS: 'off, notices=1/600',
};

/** The subject of a sign-in mail ends with its code. */
const withoutCode = (subject: string) => subject.replace(/\s*[:：]\s*\d{4}-\d{4}$/, '');

/** Brings about a mail of nearly every template, and each notice alone and in a digest, to people with these profiles. */
async function sendEverything(
  app: TestApp,
  own: object,
  others: object,
  subjectOfChange: string,
): Promise<Mail[]> {
  for (const [email, json] of [
    [ada, own],
    ['grace@example.com', others],
  ] as const)
    await app.ask('PATCH', '/me', { token: (await app.login(email)).access_token, json });
  // Until then notices also come in the former language.
  app.pass(8 * 86_400);
  const former = new Set(await app.mails());
  const { access_token: token } = await app.login(ada);
  for (const email of ['grace@example.com', 'new@example.com'])
    await app.ask('POST', '/me/email', { token, json: { email } });
  const change = (await app.mails()).find(({ to }) => to === 'new@example.com');
  await app.ask('POST', '/me/email/verify', { token, json: { token: tokenIn(change) } });
  expect(outcome(await disown(app, ada, subjectOfChange))).toBe('200');
  const { userId, ...owner } = await signedIn(app, ada);
  const kinds = Object.keys(mailTexts.en.notices) as NoticeKind[];
  for (const kind of [...kinds, ...kinds]) {
    const notice = { kind, userId, sessionId: null, client: noClient };
    await app.ctx.db.transaction((tx) => notify(app.ctx, tx, notice));
  }
  // Digests are due, and the sign-in is recent.
  app.pass(601);
  const before = await app.mails();
  expect(outcome(await app.ask('DELETE', '/me', { token: owner.access_token }))).toBe('204');
  return [...before, ...(await app.mails())].filter((mail) => !former.has(mail));
}

test.each([
  ['en', 'en-US', 'ja', /[AP]M UTC\+9\b/g, /\d{4}, \d\d:\d\d UTC(?!\+)/g],
  ['ja', 'ja', 'de', /\d:\d\d UTC\+9\b/g, /\d:\d\d UTC(?!\+)/g],
] as const)(
  'every mail is in %s, names the product, links to help, and writes times as the profile of its owner says, but not to another address',
  async (language, locale, otherLanguage, ownTime, otherTime) => {
    const app = await openApp('sqlite', { settings });
    const texts = mailTexts[language];
    const named = (text: string) => fillText(text, { product: name });
    const profile = { locale, time_zone: 'Asia/Tokyo' };
    const changed = named(texts.notices.email_changed.subject);
    const mails = await sendEverything(app, profile, { locale: otherLanguage }, changed);
    const { signIn, emailChange, emailRestored, disowned, accountDeleted } = texts;
    const notices = Object.values(texts.notices);
    const subjects = [signIn, emailChange, emailRestored, disowned, accountDeleted, ...notices]
      .map(({ subject }) => subject)
      .concat(notices.map(({ digestSubject }) => digestSubject));
    const toTheOwner = mailTexts[otherLanguage].emailTaken.subject;
    const distinct = new Set(mails.map(({ subject }) => withoutCode(subject)));
    expect(distinct).toEqual(new Set([...subjects.map(named), toTheOwner]));
    for (const { to, subject, text, html } of mails) {
      const shown = to === 'grace@example.com' ? otherLanguage : language;
      const { help, labelled } = mailTexts[shown];
      const words = text.replaceAll('\n', ' ');
      expect([subject, words.replace(/ +/g, ' ')]).toEqual([subject, expect.stringContaining(name)]);
      const link = fillText(labelled, { label: help, value: settings.LATCHKEY_SUPPORT_URL });
      expect(text).toEndWith(`\n\n${link}\n`);
      expect(text).not.toMatch(/Latchkey|[{}]/);
      expect(html).toStartWith(`<!doctype html><html lang="${shown}">`);
      expect(html).not.toMatch(/Latchkey|<script/);
      expect(html).toContain('&#60;script&#62;alert(1)&#60;/script&#62; &#38; ');
      expect(html).toContain(`href="https://help.acme.example/a?b=1&#38;c=2"`);
      const expected = to === ada ? ownTime : otherTime;
      expect([subject, words.match(expected)?.length]).toEqual([subject, words.match(/UTC/g)?.length]);
    }
  },
);

const inLatchkey = (text: string) => fillText(text, { product: 'Latchkey' });

onBothDatabases('the language of mails', (open, dialect) => {
  const app = fresh(open);

  const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0';
  const requested = (email: string, acceptLanguage: string) =>
    app.ask('POST', '/magic_link', {
      json: { email },
      headers: { 'Accept-Language': acceptLanguage, 'User-Agent': firefox },
    });

  test('for 7 days after a change of locale, notices, digests and what was undone come in every former language, too', async () => {
    const app = await open({ settings: { LATCHKEY_RATE_LIMITS: 'off, notices=1/3600' } });
    const tokens = await app.login(ada);
    for (const locale of ['de-CH', 'xx', 'ja', 'de'])
      await patchMe(app, tokens, { locale, time_zone: 'Asia/Tokyo' });
    const received = (mails: readonly Mail[], subjectOf: (texts: (typeof mailTexts)['en']) => string) =>
      languages.filter((language) => {
        const subject = inLatchkey(subjectOf(mailTexts[language]));
        const [mail, ...others] = mails.filter((one) => one.subject === subject);
        expect(others).toEqual([]);
        if (mail) expect(mail.html).toStartWith(`<!doctype html><html lang="${language}">`);
        return mail?.text.includes('UTC+9');
      });
    for (let n = 0; n < 3; n++) await app.deviceLogin(tokens);
    app.pass(3_601);
    await disown(app, ada, inLatchkey(mailTexts.de.notices.new_device.subject));
    const all = await app.mails();
    const former = ['en', 'de', 'ja'] as const;
    expect(received(all, ({ notices }) => notices.new_device.subject)).toEqual([...former]);
    expect(received(all, ({ notices }) => notices.new_device.digestSubject)).toEqual([...former]);
    expect(received(all, ({ disowned }) => disowned.subject)).toEqual([...former]);
    app.pass(7 * 86_400 - 3_601);
    await app.deviceLogin(await app.login(ada));
    const later = (await app.mails()).slice(0, -all.length);
    expect(received(later, ({ notices }) => notices.new_device.subject)).toEqual(['de']);
  });

  test('the language of the browser that asked becomes the locale of a new account, and later sign-ins change nothing', async () => {
    const localeAfter = async (email: string, acceptLanguage: string) => {
      await requested(email, acceptLanguage);
      const { token } = (await app.mails()).find(({ to }) => to === email)!;
      const headers = { 'Accept-Language': 'es' };
      const { body } = await app.ask('POST', '/magic_link/verify', { json: { token }, headers });
      return (await app.ask('GET', '/me', { token: body.access_token })).body.locale;
    };
    for (const [email, acceptLanguage, locale] of [
      [ada, 'pt-PT, fr;q=0.9', 'pt-BR'],
      ['eve@example.com', 'sv', null],
    ] as const) {
      expect(await localeAfter(email, acceptLanguage)).toBe(locale);
      expect(await localeAfter(email, 'fr')).toBe(locale);
    }
  });

  // The others choose the words of a mail from the same rows.
  if (dialect === 'postgres') return;

  test('a notice that waited while the locale was changed keeps its language', async () => {
    const tokens = await app.login(ada);
    await app.deviceLogin(tokens);
    const waiting = "SELECT id FROM outbox WHERE template = 'notice' AND sent_at IS NULL";
    expect(await app.ctx.db.read.run(waiting, [])).toHaveLength(1);
    await patchMe(app, tokens, { locale: 'ja' });
    expect((await app.mails())[0]!.subject).toBe(inLatchkey(mailTexts.en.notices.new_device.subject));
  });

  test('without an account, the sign-in mail is in the language that the request prefers', async () => {
    for (const language of languages) {
      const email = `${language.toLowerCase()}@example.com`;
      await requested(email, `zh, ${language};q=0.9, en;q=0.8`);
      const [mail] = await app.mails();
      const { subject, browserOn } = mailTexts[language].signIn;
      expect([mail!.to, withoutCode(mail!.subject)]).toEqual([email, inLatchkey(subject)]);
      expect(mail!.html).toStartWith(`<!doctype html><html lang="${language}">`);
      expect(mail!.text).toContain(fillText(browserOn, { browser: 'Firefox', system: 'Linux' }));
    }
  });

  test('with an account, its locale wins over the language of the request, which serves one without a locale, and times are in its time zone', async () => {
    const tokens = await app.login(ada);
    await patchMe(app, tokens, { time_zone: 'Asia/Tokyo' });
    const english = /: \d{1,2} [A-Z][a-z]+ \d{4}, \d\d:\d\d UTC\+9$/m;
    const german = /: \d\d\.\d\d\.\d{4}, \d\d:\d\d UTC\+9$/m;
    for (const [locale, acceptLanguage, expected, time] of [
      [null, 'fr-CA', 'fr', /UTC\+9$/m],
      [null, "de'; DROP TABLE users", 'en', english],
      ['de', 'fr-CA', 'de', german],
      ['en', 'fr-CA', 'en', english],
      ['sv', 'fr-CA', 'en', /UTC\+9$/m],
    ] as const) {
      await patchMe(app, tokens, { locale });
      expect((await requested(ada, acceptLanguage)).status).toBe(202);
      const [mail] = await app.mails();
      expect(withoutCode(mail!.subject)).toBe(inLatchkey(mailTexts[expected].signIn.subject));
      expect(mail!.text).toMatch(time);
    }
  });
});
