import { expect, test } from 'bun:test';
import { languages } from '@latchkey/contract/languages';
import { fillText } from '@latchkey/contract/texts';
import { tokenIn } from '#support/account.ts';
import { onBothDatabases, type TestApp } from '#support/app.ts';
import { fresh } from '#support/shared.ts';
import { mailTexts } from './texts/texts.ts';

const product = 'Latchkey';
/** The subject of a sign-in mail ends with its code. */
const withoutCode = (subject: string) => subject.replace(/\s*[:：]\s*\d{4}-\d{4}$/, '');

const named = (text: string) => fillText(text, { product });

onBothDatabases('the language of mails', (open, dialect) => {
  const app = fresh(open);

  const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0';
  const requested = (app: TestApp, email: string, acceptLanguage: string) =>
    app.ask('POST', '/magic_link', {
      json: { email },
      headers: { 'Accept-Language': acceptLanguage, 'User-Agent': firefox },
    });

  test('for 7 days after a change of locale, notices, digests and what was undone come in every former language, too', async () => {
    const app = await open({ settings: { LATCHKEY_RATE_LIMITS: 'off, notices=1/3600' } });
    const email = 'ada@example.com';
    const tokens = await app.login(email);
    const token = tokens.access_token;
    for (const locale of ['de-CH', 'xx', 'ja', 'de'])
      await app.ask('PATCH', '/me', { token, json: { locale, time_zone: 'Asia/Tokyo' } });
    const received = async (subjectOf: (texts: (typeof mailTexts)['en']) => string) =>
      languages.flatMap((language) =>
        all
          .filter(({ subject }) => subject === named(subjectOf(mailTexts[language])))
          .map(({ html, text }) => {
            expect(html).toStartWith(`<!doctype html><html lang="${language}">`);
            expect(text).toContain('UTC+9');
            return language;
          }),
      );
    for (let n = 0; n < 3; n++) await app.deviceLogin(tokens);
    app.pass(3_601);
    let all = await app.mails();
    const link = tokenIn(
      all.find(({ subject }) => subject === named(mailTexts.de.notices.new_device.subject)),
    );
    await app.ask('POST', '/notices/disown', { json: { token: link } });
    all = await app.mails();
    const former = ['en', 'de', 'ja'] as const;
    expect(await received(({ notices }) => notices.new_device.subject)).toEqual([...former]);
    expect(await received(({ notices }) => notices.new_device.digestSubject)).toEqual([...former]);
    expect(await received(({ disowned }) => disowned.subject)).toEqual([...former]);
    app.pass(7 * 86_400 - 3_601);
    const before = all.length;
    await app.deviceLogin(await app.login(email));
    all = await app.mails();
    all = all.slice(0, all.length - before);
    expect(await received(({ notices }) => notices.new_device.subject)).toEqual(['de']);
  });

  test('the language of the browser that asked becomes the locale of a new account, and later sign-ins change nothing', async () => {
    const localeAfter = async (email: string, acceptLanguage: string) => {
      await requested(app, email, acceptLanguage);
      const { token } = (await app.mails()).find(({ to }) => to === email)!;
      const headers = { 'Accept-Language': 'es' };
      const { body } = await app.ask('POST', '/magic_link/verify', { json: { token }, headers });
      return (await app.ask('GET', '/me', { token: body.access_token })).body.locale;
    };
    for (const [email, acceptLanguage, locale] of [
      ['ada@example.com', 'pt-PT, fr;q=0.9', 'pt-BR'],
      ['eve@example.com', 'sv', null],
    ] as const) {
      expect(await localeAfter(email, acceptLanguage)).toBe(locale);
      expect(await localeAfter(email, 'fr')).toBe(locale);
    }
  });

  // The others choose the words of a mail from the same rows.
  if (dialect === 'postgres') return;

  test('a notice that waited while the locale was changed keeps its language', async () => {
    const tokens = await app.login('ada@example.com');
    await app.deviceLogin(tokens);
    const waiting = "SELECT id FROM outbox WHERE template = 'notice' AND sent_at IS NULL";
    expect(await app.ctx.db.read.run(waiting, [])).toHaveLength(1);
    await app.ask('PATCH', '/me', { token: tokens.access_token, json: { locale: 'ja' } });
    expect((await app.mails())[0]!.subject).toBe(named(mailTexts.en.notices.new_device.subject));
  });

  test('without an account, the sign-in mail is in the language that the request prefers', async () => {
    for (const language of languages) {
      const email = `${language.toLowerCase()}@example.com`;
      await requested(app, email, `zh, ${language};q=0.9, en;q=0.8`);
      const [mail] = await app.mails();
      const { subject, browserOn } = mailTexts[language].signIn;
      expect([mail!.to, withoutCode(mail!.subject)]).toEqual([email, named(subject)]);
      expect(mail!.html).toStartWith(`<!doctype html><html lang="${language}">`);
      expect(mail!.text).toContain(fillText(browserOn, { browser: 'Firefox', system: 'Linux' }));
    }
  });

  test('with an account, its locale wins over the language of the request, which serves one without a locale, and times are in its time zone', async () => {
    const { access_token: token } = await app.login('ada@example.com');
    await app.ask('PATCH', '/me', { token, json: { time_zone: 'Asia/Tokyo' } });
    const english = /: \d{1,2} [A-Z][a-z]+ \d{4}, \d\d:\d\d UTC\+9$/m;
    const german = /: \d\d\.\d\d\.\d{4}, \d\d:\d\d UTC\+9$/m;
    for (const [locale, acceptLanguage, expected, time] of [
      [null, 'fr-CA', 'fr', /UTC\+9$/m],
      [null, "de'; DROP TABLE users", 'en', english],
      ['de', 'fr-CA', 'de', german],
      ['en', 'fr-CA', 'en', english],
      ['sv', 'fr-CA', 'en', /UTC\+9$/m],
    ] as const) {
      await app.ask('PATCH', '/me', { token, json: { locale } });
      expect((await requested(app, 'ada@example.com', acceptLanguage)).status).toBe(202);
      const [mail] = await app.mails();
      expect(withoutCode(mail!.subject)).toBe(named(mailTexts[expected].signIn.subject));
      expect(mail!.text).toMatch(time);
    }
  });
});
