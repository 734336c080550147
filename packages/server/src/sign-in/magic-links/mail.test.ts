import { expect, test } from 'bun:test';
import { formatCode } from '@latchkey/contract/codes';
import { type Mail, openApp } from '../../../../../tests/support/app.ts';
import { readHandle } from '../../platform/crypto/handle.ts';
import { parseKeyRing } from '../../platform/crypto/primitives.ts';
import { writerFor } from '../../platform/mail/compose.ts';
import { readConfig } from '../../settings.ts';
import { emailCodeOf, signInMessage } from './mail.ts';

async function signInMail(settings: Record<string, string> = {}): Promise<{ mail: Mail; keys: string }> {
  const t = await openApp('sqlite', { settings });
  await t.ask('POST', '/magic_link', { json: { email: 'ada@example.com' } });
  const [mail] = await t.mails();
  await t.close();
  return { mail: mail!, keys: t.keys };
}

const codePattern = /^\d{4}-\d{4}$/;

test('the plain text has the link and the code each on a line of their own', async () => {
  const { mail } = await signInMail({ LATCHKEY_BASE_URL: 'https://login.example.com' });
  const lines = mail.text.split('\n');
  const links = lines.filter((line) => line.includes('://'));
  expect(links).toHaveLength(1);
  expect(links[0]).toMatch(/^https:\/\/login\.example\.com\/magic-link#token=lk_ml_[\w-]{80}$/);
  expect(lines.filter((line) => codePattern.test(line))).toHaveLength(1);
  expect(lines.filter((line) => line.includes(mail.code))).toEqual([mail.code]);
  expect(mail.subject).toBe(`Sign in to Latchkey: ${mail.code}`);
});

test('text and HTML have the same link and code, and the HTML loads nothing', async () => {
  const { mail } = await signInMail();
  const urls = [...mail.html.matchAll(/(?:https?:)?\/\/[^\s"'<>]+/g)].map(([url]) => url);
  expect(urls).toEqual([`http://localhost:8787/magic-link#token=${mail.token}`]);
  expect(mail.html).toContain(`>${mail.code}<`);
  expect(mail.html).not.toMatch(/<(img|script|iframe|link)\b/i);
});

test('the token is only in the fragment of the link, which browsers do not send', async () => {
  const { mail } = await signInMail();
  const link = mail.text.split('\n').find((line) => line.includes('://'))!;
  const { pathname, search, hash } = new URL(link);
  expect([pathname, search]).toEqual(['/magic-link', '']);
  expect(hash).toBe(`#token=${mail.token}`);
});

test('the code depends on the server key and cannot be derived from the link', async () => {
  const { mail, keys } = await signInMail();
  const linkId = readHandle(parseKeyRing(keys), 'magicLink', mail.token)!.subject.toString('base64url');
  expect(formatCode(emailCodeOf(parseKeyRing(keys).signing, linkId))).toBe(mail.code);
  const other = parseKeyRing(Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url'));
  expect(formatCode(emailCodeOf(other.signing, linkId))).not.toBe(mail.code);
  expect(mail.token).not.toContain(mail.code.replace('-', ''));
});

test('the codes of 2000 mails are well-formed and spread over all codes', () => {
  const key = parseKeyRing(
    Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url'),
  ).signing;
  const codes = Array.from({ length: 2000 }, (_, n) =>
    emailCodeOf(key, Buffer.from(`link ${n}`).toString('base64url')),
  );
  for (const code of codes) expect(formatCode(code)).toMatch(codePattern);
  // Two of 2000 are the same in one of 50 runs.
  expect(new Set(codes).size).toBeGreaterThan(1995);
  for (let at = 0; at < 8; at++) expect(new Set(codes.map((code) => code[at])).size).toBe(10);
});

test.each([
  [30, '1 minute'],
  [60, '1 minute'],
  [900, '15 minutes'],
  [86_400, '1440 minutes'],
])('a lifetime of %i s reads as %s', (seconds, words) => {
  const { text, html } = signInMessage(
    writerFor(readConfig({}).product, undefined),
    'https://a.example/x',
    '1234-5678',
    { created_at: 0, expires_at: seconds * 1000, ip_address: null, user_agent: null },
  );
  expect(text).toContain(`within ${words}.`);
  expect(html).toContain(`within ${words}.`);
});

test('the mail states the configured lifetime of its link', async () => {
  const { mail } = await signInMail({ LATCHKEY_MAGIC_LINK_TTL: '300' });
  expect(mail.text).toContain('within 5 minutes.');
});

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0';

test.each([
  [firefox, 'Firefox on Linux'],
  ['Visit https://evil.example', undefined],
  [`Mozilla/5.0 (evil.example) ${firefox}`, 'Firefox on Linux'],
])(
  'the mail says when and where it was requested, and nothing in the words of %p',
  async (userAgent, browser) => {
    const t = await openApp('sqlite');
    const headers = { 'User-Agent': userAgent };
    await t.ask('POST', '/magic_link', { json: { email: 'ada@example.com' }, headers, peer: '203.0.113.7' });
    const [mail] = await t.mails();
    for (const form of [mail!.text, mail!.html]) {
      expect(form).toContain('203.0.113.7');
      expect(form).toMatch(/Requested.*\d{1,2} [A-Z][a-z]{2} \d{4}, \d\d:\d\d UTC/);
      expect(form).not.toContain('evil');
      expect(form.includes('Browser')).toBe(browser !== undefined);
      if (browser !== undefined) expect(form).toContain(browser);
    }
  },
);

test('a list of mails shows how long the link works, and no code', async () => {
  const { mail } = await signInMail();
  const preheader = /<div style="display: none[^>]*>([^<]*)</.exec(mail.html)?.[1];
  expect(preheader).toBe('Your link and code work once, within 15 minutes.');
});
