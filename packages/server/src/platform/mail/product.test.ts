// What mails say about the product, and how they write times to the person who reads them.

import { afterEach, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  addPasskey,
  askForAddress,
  newAuthenticator,
  tokenIn,
} from '../../../../../tests/support/account.ts';
import { type Mail, onBothDatabases, type TestApp, type Tokens } from '../../../../../tests/support/app.ts';
import { pngLogo } from '../../../../../tests/support/logos.ts';
import { temporaryDirectory } from '../../../../../tests/support/service.ts';
import { startSmtp } from '../../../../../tests/support/smtp.ts';
import { templates } from '../../app.ts';
import { smtpTransport } from './transport.ts';
import { MailWorker } from './worker.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const ada = 'ada@example.com';
const name = '<script>alert(1)</script> & "Co"';
const settings = {
  LATCHKEY_PRODUCT_NAME: name,
  LATCHKEY_SUPPORT_URL: 'https://help.acme.example/a?b=1&c=2',
  LATCHKEY_REFRESH_REUSE_LEEWAY: '0',
  LATCHKEY_RATE_LIMITS: 'off, notices=1/3600',
};

async function signInFrom(app: TestApp, peer: string): Promise<Tokens> {
  await app.ask('POST', '/magic_link', { json: { email: ada } });
  const mail = (await app.mails()).find(({ to, token }) => to === ada && token);
  return (await app.ask('POST', '/magic_link/verify', { json: { token: mail?.token }, peer })).body;
}

/** The newest mail to an address with a subject that starts like this. */
const mailTo = async (app: TestApp, to: string, subject: string): Promise<Mail | undefined> =>
  (await app.mails()).find((mail) => mail.to === to && mail.subject.startsWith(subject));

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
async function changeAddress(app: TestApp, { access_token: token }: Tokens): Promise<void> {
  for (const email of ['grace@example.com', 'new@example.com'])
    await app.ask('POST', '/me/email', { token, json: { email } });
  const link = tokenIn(await mailTo(app, 'new@example.com', 'Confirm'));
  await app.ask('POST', '/me/email/verify', { token, json: { token: link } });
  const notice = tokenIn(await mailTo(app, ada, 'The email address'));
  expect((await app.ask('POST', '/notices/disown', { json: { token: notice } })).status).toBe(200);
}

/** Brings about a mail of nearly every template and every kind of notice. */
async function sendEverything(app: TestApp): Promise<Mail[]> {
  const tokens = await app.login(ada);
  await app.login('grace@example.com');
  await misuseDevice(app, tokens);
  const { body: passkey } = await addPasskey(app, tokens, newAuthenticator(app));
  await app.ask('DELETE', `/passkeys/${passkey.id}`, { token: tokens.access_token });
  await changeAddress(app, tokens);
  // What is undone takes the notices with it that still wait.
  for (const peer of ['198.51.100.7', '203.0.113.9', '203.0.113.200']) await signInFrom(app, peer);
  app.pass(3601);
  const before = await app.mails();
  const { access_token: token } = await signInFrom(app, '198.51.100.7');
  expect((await app.ask('DELETE', '/me', { token })).status).toBe(204);
  return [...before, ...(await app.mails())];
}

const expected = [
  `Sign in to ${name}`,
  `New sign-in to your ${name} account`,
  `More new sign-ins to your ${name} account`,
  `A new device signed in to your ${name} account`,
  `A passkey was added to your ${name} account`,
  `A passkey was removed from your ${name} account`,
  `A session of your ${name} account was used from two places`,
  `A session of your ${name} account was ended because its token was used twice`,
  'Someone tried to use your email address',
  `Confirm your new address for ${name}`,
  `The email address of your ${name} account was changed`,
  `This address was removed from an account at ${name}`,
  `What was undone in your ${name} account`,
  `Your ${name} account has been deleted`,
];

onBothDatabases('the product in mails', (open) => {
  test('every mail names the product in its text and HTML, links to help, and escapes its name', async () => {
    const app = await open({ settings });
    const mails = await sendEverything(app);
    expect([...new Set(mails.map(({ subject }) => subject.replace(/: \d{4}-\d{4}$/, '')))].sort()).toEqual(
      expected.toSorted(),
    );
    for (const { subject, text, html } of mails) {
      expect([subject, text.replace(/\s+/g, ' ')]).toEqual([subject, expect.stringContaining(name)]);
      expect(text).not.toContain('Latchkey');
      expect(text).toEndWith('\n\nHelp: https://help.acme.example/a?b=1&c=2\n');
      expect(html).not.toContain('Latchkey');
      expect(html).not.toContain('<script');
      expect(html).toContain('&#60;script&#62;alert(1)&#60;/script&#62; &#38; ');
      expect(html).toMatch(/href="https:\/\/help\.acme\.example\/a\?b=1&#38;c=2"[^>]*>Help<\/a>/);
    }
  });

  test('the profile decides how a notice writes times, when the mail is sent', async () => {
    const app = await open();
    await app.login(ada);
    const pass = Date.parse('2030-01-15T12:30:00Z') - app.ctx.clock();
    app.pass(pass / 1000);
    const timesIn = async (profile: object) => {
      const { access_token } = await app.login(ada);
      await app.ask('PATCH', '/me', { token: access_token, json: profile });
      app.pass(3600);
      await app.deviceLogin(await app.login(ada));
      const { text, html } = (await mailTo(app, ada, 'A new device'))!;
      const [when = ''] = /(?<=^When: ).+$/m.exec(text) ?? [];
      const [expires = ''] = /(?<=The link expires on ).+(?=\.)/.exec(text.replace(/\s+/g, ' ')) ?? [];
      expect(html).toContain(`<bdi>${when}</bdi>`);
      expect(html).toContain(`The link expires on ${expires}.`);
      return [when, expires];
    };
    expect(await timesIn({})).toEqual(['15 Jan 2030, 13:30 UTC', '22 Jan 2030, 13:30 UTC']);
    expect(await timesIn({ time_zone: 'Asia/Kolkata' })).toEqual([
      '15 Jan 2030, 20:00 UTC+5:30',
      '22 Jan 2030, 20:00 UTC+5:30',
    ]);
    expect(await timesIn({ locale: 'sv' })).toEqual([
      '15 jan. 2030 21:00 UTC+5:30',
      '22 jan. 2030 21:00 UTC+5:30',
    ]);
  });

  test('a digest and the mail about what was undone write times for their reader', async () => {
    const app = await open({ settings: { LATCHKEY_RATE_LIMITS: 'off, notices=1/3600' } });
    const { access_token: token } = await app.login(ada);
    await app.ask('PATCH', '/me', { token, json: { time_zone: 'Asia/Kolkata', locale: 'sv' } });
    const time = String.raw`\d+ \p{L}+\.? \d{4} \d\d:\d\d UTC\+5:30`;
    for (const peer of ['198.51.100.7', '203.0.113.9', '192.0.3.3']) await signInFrom(app, peer);
    app.pass(3601);
    const digest = await mailTo(app, ada, 'More new sign-ins');
    expect(digest?.text.match(new RegExp(`^When: ${time}$`, 'gmu'))).toHaveLength(2);
    expect(digest?.text.replaceAll('\n', ' ')).toMatch(new RegExp(`links expires on ${time}\\.`, 'u'));
    await app.ask('POST', '/notices/disown', { json: { token: tokenIn(digest) } });
    const undone = await mailTo(app, ada, 'What was undone');
    expect(undone?.text.replaceAll('\n', ' ')).toMatch(new RegExp(`sent on ${time}\\.`, 'u'));
  });

  test('a mail to a new address reveals the language of the account, but neither its region nor its time zone', async () => {
    const app = await open();
    const tokens = await app.login(ada);
    const json = { time_zone: 'Asia/Kolkata', locale: 'en-US' };
    await app.ask('PATCH', '/me', { token: tokens.access_token, json });
    expect(await askForAddress(app, tokens, 'new@example.com')).not.toBe('');
    const { text } = (await mailTo(app, 'new@example.com', 'Confirm'))!;
    expect(text.replaceAll('\n', ' ')).toMatch(/expires on \d+ [A-Z][a-z]+ \d{4}, \d\d:\d\d UTC\./);
  });

  test('over SMTP the name stands in the subject, and a PNG logo comes with the HTML, not beside it', async () => {
    const smtp = await startSmtp();
    cleanups.push(() => smtp.close());
    const logo = join(temporaryDirectory(), 'logo.png');
    const bytes = pngLogo(40, 10);
    writeFileSync(logo, bytes);
    const app = await open({
      settings: { LATCHKEY_PRODUCT_NAME: 'Acme & Co', LATCHKEY_LOGO: logo, LATCHKEY_SMTP_URL: smtp.url },
    });
    cleanups.push(() => app.close());
    const worker = new MailWorker(app.ctx, templates, smtpTransport(app.ctx.config, smtp.url));
    cleanups.push(() => worker.stop());
    await app.ask('POST', '/magic_link', { json: { email: ada } });
    worker.wake();
    const [mail] = await smtp.received(1);
    const raw = mail!.raw.replaceAll('\r\n', '\n');
    expect(raw).toContain('\nSubject: Sign in to Acme & Co: ');
    expect(raw).toContain('\nFrom: "Acme & Co" <no-reply@localhost>\n');
    const types = [...raw.matchAll(/^Content-Type: ([\w/]+)/gim)].map(([, type]) => type);
    expect(types).toEqual([
      'multipart/alternative',
      'text/plain',
      'multipart/related',
      'text/html',
      'image/png',
    ]);
    expect(raw).toContain('\nContent-ID: <logo@product>\n');
    expect(raw.replace(/=\n/g, '')).toContain('src=3D"cid:logo@product"');
    expect(raw).toContain('\nContent-Disposition: inline; filename=logo.png\n');
    expect(raw.replaceAll('\n', '')).toContain(Buffer.from(bytes).toString('base64'));
  });
});
