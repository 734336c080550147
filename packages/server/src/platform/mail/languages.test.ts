import { expect, test } from 'bun:test';
import { languages } from '@latchkey/contract/languages';
import { fillText } from '@latchkey/contract/texts';
import { onBothDatabases } from '../../../../../tests/support/app.ts';
import { mailTexts } from './texts/texts.ts';

const product = 'Latchkey';
const named = (text: string) => fillText(text, { product });

onBothDatabases('the language of mails', (open) => {
  test('mails to a known person are in the language of their profile, from the sign-in to the deletion', async () => {
    const app = await open({ settings: { LATCHKEY_SUPPORT_URL: 'https://help.acme.example/' } });
    for (const language of languages) {
      const email = `${language.toLowerCase()}@example.com`;
      const { access_token: token } = await app.login(email);
      await app.ask('PATCH', '/me', { token, json: { locale: language, time_zone: 'Asia/Tokyo' } });
      const tokens = await app.login(email);
      await app.deviceLogin(tokens);
      const mails = (await app.mails()).filter(({ to }) => to === email);
      const { signIn, notices, notice, help } = mailTexts[language];
      const subjects = mails.map(({ subject }) => subject);
      expect(subjects).toContain(named(notices.new_device.subject));
      expect(subjects).toContain(named(signIn.subject));
      for (const { text, html } of mails) {
        expect(text).not.toMatch(/[{}]/);
        expect(text).toEndWith(`\n${help}: https://help.acme.example/\n`);
        expect(html).toStartWith(`<!doctype html><html lang="${language}">`);
      }
      const device = mails.find(({ subject }) => subject === named(notices.new_device.subject))!;
      expect(device.text).toMatch(new RegExp(`^${notice.when}: .* UTC\\+9$`, 'm'));
      expect(device.html).toContain(`>${notice.link.replaceAll("'", '&#39;')}</a>`);
      const invitation = mails.find(({ subject }) => subject === named(signIn.subject))!;
      expect(invitation.text).toMatch(/^http:\/\/\S+\/magic-link#token=lk_ml_\S+$/m);
      expect(invitation.text).toMatch(/^[A-Z]{4}-[A-Z]{4}$/m);
      expect((await app.ask('DELETE', '/me', { token: tokens.access_token })).status).toBe(204);
      const [last] = (await app.mails()).filter(({ to }) => to === email);
      expect(last!.subject).toBe(named(mailTexts[language].accountDeleted.subject));
    }
    await app.close();
  });

  test('a locale that is none of the languages leaves the words English', async () => {
    const app = await open();
    const { access_token: token } = await app.login('sv@example.com');
    await app.ask('PATCH', '/me', { token, json: { locale: 'sv-SE' } });
    await app.login('sv@example.com');
    expect((await app.mails())[0]).toMatchObject({ subject: 'Sign in to Latchkey' });
    await app.close();
  });
});
