// What every mail has: the product, the language and the times of its reader.

import { expect, test } from 'bun:test';
import { fillText } from '@latchkey/contract/texts';
import { addPasskey, newAuthenticator, outcome, signInByMail, tokenIn } from '#support/account.ts';
import { type Mail, onBothDatabases, type TestApp, type Tokens } from '#support/app.ts';
import { mailTexts } from './texts/texts.ts';

const ada = 'ada@example.com';
const name = '<script>alert(1)</script> & "Co"';
const settings = {
  LATCHKEY_PRODUCT_NAME: name,
  LATCHKEY_SUPPORT_URL: 'https://help.acme.example/a?b=1&c=2',
  LATCHKEY_REFRESH_REUSE_LEEWAY: '0',
  LATCHKEY_RATE_LIMITS: 'off, notices=1/3600',
};

/** A stolen token, and a refresh that was repeated elsewhere. */
async function misuseDevice(app: TestApp, tokens: Tokens): Promise<void> {
  const { refresh_token } = await app.deviceLogin(tokens);
  const request = { headers: { 'Idempotency-Key': 'k' }, json: { refresh_token } };
  const { body } = await app.ask('POST', '/refresh', request);
  await app.ask('POST', '/refresh', { ...request, peer: '203.0.113.80' });
  await app.ask('POST', '/refresh', { json: { refresh_token: body.refresh_token } });
  await app.ask('POST', '/refresh', { json: { refresh_token } });
}

/** Changes the address of an account to `new@example.com`, which is then undone from the former address. */
async function changeAddress(app: TestApp, { access_token: token }: Tokens, subject: string): Promise<void> {
  for (const email of ['grace@example.com', 'new@example.com'])
    await app.ask('POST', '/me/email', { token, json: { email } });
  const link = tokenIn((await app.mails()).find(({ to }) => to === 'new@example.com'));
  await app.ask('POST', '/me/email/verify', { token, json: { token: link } });
  const notice = (await app.mails()).find((mail) => mail.to === ada && mail.subject === subject);
  expect(outcome(await app.ask('POST', '/notices/disown', { json: { token: tokenIn(notice) } }))).toBe('200');
}

/** Brings about a mail of nearly every template and every kind of notice, to people with these profiles. */
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
  const tokens = await app.login(ada);
  await misuseDevice(app, tokens);
  const { body: passkey } = await addPasskey(app, tokens, newAuthenticator(app));
  await app.ask('DELETE', `/passkeys/${passkey.id}`, { token: tokens.access_token });
  await changeAddress(app, tokens, subjectOfChange);
  // What is undone takes the notices with it that still wait.
  for (const peer of ['198.51.100.7', '203.0.113.9', '203.0.113.200']) await signInByMail(app, ada, { peer });
  app.pass(3601);
  const before = await app.mails();
  const { body: login } = await signInByMail(app, ada, { peer: '198.51.100.7' });
  expect(outcome(await app.ask('DELETE', '/me', { token: login.access_token }))).toBe('204');
  return [...before, ...(await app.mails())].filter((mail) => !former.has(mail));
}

onBothDatabases('every mail', (open) => {
  test.each([
    ['en', 'en-US', 'ja', /[AP]M UTC\+9\b/g, /\d{4}, \d\d:\d\d UTC(?!\+)/g],
    ['ja', 'ja', 'de', /\d:\d\d UTC\+9\b/g, /\d:\d\d UTC(?!\+)/g],
  ] as const)(
    'is in %s, names the product, links to help, and writes times as the profile of its owner says, but not to another address',
    async (language, locale, otherLanguage, ownTime, otherTime) => {
      const app = await open({ settings });
      const texts = mailTexts[language];
      const named = (text: string) => fillText(text, { product: name });
      const profile = { locale, time_zone: 'Asia/Tokyo' };
      const changed = named(texts.notices.email_changed.subject);
      const mails = await sendEverything(app, profile, { locale: otherLanguage }, changed);
      const distinct = new Set(mails.map(({ subject }) => subject.replace(/\s*[:：]\s*\d{4}-\d{4}$/, '')));
      const { signIn, emailChange, emailRestored, disowned, accountDeleted } = texts;
      const templates = [signIn, emailChange, emailRestored, disowned, accountDeleted];
      const { new_browser, new_device, passkey_added, passkey_removed } = texts.notices;
      const { refresh_repeated_elsewhere, theft_stopped, email_changed } = texts.notices;
      const notices = [new_browser, new_device, passkey_added, passkey_removed, email_changed].concat([
        refresh_repeated_elsewhere,
        theft_stopped,
      ]);
      const subjects = [...templates, ...notices].map(({ subject }) => named(subject));
      const toTheOwner = mailTexts[otherLanguage].emailTaken.subject;
      expect(distinct).toEqual(new Set([...subjects, named(new_browser.digestSubject), toTheOwner]));
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
});
