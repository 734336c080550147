import { expect, test } from 'bun:test';
import { formatCode } from '@latchkey/contract/codes';
import { openApp } from '#support/app.ts';
import { readHandle } from '../../platform/crypto/handle.ts';
import { generateKey, parseKeyRing } from '../../platform/crypto/primitives.ts';
import { emailCodeOf } from './mail.ts';

const codePattern = /^\d{4}-\d{4}$/;

test('text and HTML have the same link and code, each on a line of its own, the token only in the fragment, which browsers do not send; the HTML loads nothing', async () => {
  const baseUrl = 'https://login.example.com';
  const settings = { LATCHKEY_BASE_URL: baseUrl, LATCHKEY_MAGIC_LINK_TTL: '300' };
  const t = await openApp('sqlite', { settings });
  await t.ask('POST', '/magic_link', { json: { email: 'ada@example.com' } });
  const [mail] = await t.mails();
  const { text, html, subject, token, code } = mail!;
  const link = `${baseUrl}/magic-link#token=${token}`;
  expect(token).toMatch(/^lk_ml_[\w-]{80}$/);
  const lines = text.split('\n');
  expect(lines.filter((line) => line.includes('://'))).toEqual([link]);
  expect(lines.filter((line) => line.includes(code) || codePattern.test(line))).toEqual([code]);
  expect(subject).toBe(`Sign in to Latchkey: ${code}`);
  const urls = [...html.matchAll(/(?:https?:)?\/\/[^\s"'<>]+/g)].map(([url]) => url);
  expect(urls).toEqual([link]);
  expect(html).toContain(`>${code}<`);
  expect(html).not.toMatch(/<(img|script|iframe|link)\b/i);
  // A list of mails shows how long the link works, and no code.
  const preheader = /<div style="display: none[^>]*>([^<]*)</.exec(html)?.[1];
  expect(preheader).toBe('Your link and code work once, within 5 minutes.');

  // The code depends on the server key and cannot be derived from the link.
  const { keys } = t.ctx;
  const linkId = readHandle(keys, 'magicLink', token)!.subject.toString('base64url');
  expect(formatCode(emailCodeOf(keys.signing, linkId))).toBe(code);
  expect(formatCode(emailCodeOf(parseKeyRing(generateKey()).signing, linkId))).not.toBe(code);
  expect(token).not.toContain(code.replace('-', ''));
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
