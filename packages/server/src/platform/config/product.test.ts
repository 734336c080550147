// The settings that name the product: its name, links and logo.

import { expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { logoFile, pngLogo } from '#support/logos.ts';
import { temporaryDirectory } from '#support/service.ts';
import { readConfig } from '../../settings.ts';
import type { Config } from './config.ts';
import { maxLogoBytes } from './product.ts';

const productOf = (env: Record<string, string>): Config['product'] => readConfig(env).product;

const svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 10"><path d="M0 0h40v10z"/></svg>';

test('LATCHKEY_PRODUCT_NAME is 1 to 40 characters, whatever they mean elsewhere', () => {
  const long = ['x'.repeat(40), '𝒜'.repeat(40)];
  for (const name of ['A', 'Zürich 暗号', '<script>alert(1)</script>', '{{footer}} & "Co"', ...long])
    for (const text of [name, ` ${name} `])
      expect(productOf({ LATCHKEY_PRODUCT_NAME: text }).name).toBe(name);
});

const linkSettings = ['LATCHKEY_SUPPORT_URL', 'LATCHKEY_LEGAL_URL'];

test.each([
  ['https://acme.example', 'https://acme.example/'],
  ['https://Acme.example/help?topic=sign-in#top', 'https://acme.example/help?topic=sign-in#top'],
  ['https://bücher.example/"x"', 'https://xn--bcher-kva.example/%22x%22'],
  ['http://localhost:3000/help', 'http://localhost:3000/help'],
  ['http://127.0.0.1/', 'http://127.0.0.1/'],
  ['http://[::1]:8080/a', 'http://[::1]:8080/a'],
])('a link of the product may be %p', (url, written) => {
  const { links } = productOf(Object.fromEntries(linkSettings.map((setting) => [setting, url])));
  expect(links).toEqual({ help: written, legal: written });
});

const name = ['LATCHKEY_PRODUCT_NAME'];
test.each([
  ['too many characters', name, ['x'.repeat(41)]],
  ['line breaks', name, ['Acme\nInc', 'Acme\r\nBcc: eve@example.com']],
  [
    'invisible characters',
    name,
    ['Ac\u0000me', '\u202eemcA', 'Ac\u200bme', '\u200b', '\u2800', 'Acme\ud800'],
  ],
  ['two spaces together', name, ['Ac  me']],
  ['a URL without TLS', linkSettings, ['http://acme.example', 'http://localhost.acme.example']],
  ['another scheme', linkSettings, ['javascript:alert(1)', 'data:text/html,x', 'mailto:help@acme.example']],
  ['a URL that is not absolute', linkSettings, ['acme.example', 'https://', 'https:acme.example']],
  ['user information', linkSettings, ['https://user:password@acme.example/']],
  ['a URL that a parser would mend', linkSettings, ['https://acme.example/a b', 'https://acme.example/\\a']],
  ['a URL that is too long', linkSettings, [`https://acme.example/${'x'.repeat(2048)}`]],
])('%s: refused by %p', (_, settings, texts) => {
  for (const setting of settings)
    for (const text of texts)
      expect(() => readConfig({ [setting]: text })).toThrow(new RegExp(`^${setting} must be .+\\.$`));
});

test('LATCHKEY_LOGO accepts an SVG and a PNG, and knows their size', () => {
  const logoOf = (name: string, content: string | Uint8Array) =>
    productOf({ LATCHKEY_LOGO: logoFile(name, content) }).logo;
  const bytes = pngLogo(3, 2);
  expect(logoOf('logo.png', bytes)).toEqual({ type: 'image/png', bytes, size: { width: 3, height: 2 } });
  expect(logoOf('Logo.SVG', svg)).toEqual({
    type: 'image/svg+xml',
    bytes: new Uint8Array(Buffer.from(svg)),
    size: { width: 40, height: 10 },
  });
  const doctype =
    '<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">';
  for (const text of [
    `\ufeff<?xml version="1.0" encoding="UTF-8"?>\n<!-- made by hand -->\n${doctype}\n${svg}\n<!-- end -->\n`,
    "<svg\n  xmlns='http://www.w3.org/2000/svg'/>",
  ])
    expect(logoOf('logo.svg', text)?.type).toBe('image/svg+xml');
});

const png = pngLogo(1, 1);
test.each<[string, string, string | Uint8Array]>([
  ['HTML that is named .svg', 'logo.svg', '<!doctype html><svg xmlns="http://www.w3.org/2000/svg"></svg>'],
  ['an SVG without its namespace', 'logo.svg', '<svg viewBox="0 0 1 1"></svg>'],
  ['an SVG that is cut short', 'logo.svg', svg.slice(0, -3)],
  ['an SVG that is not UTF-8', 'logo.svg', Buffer.from(`<!-- \xff -->${svg}`, 'latin1')],
  [
    'an SVG that declares entities',
    'logo.svg',
    `<!DOCTYPE svg [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;">]>${svg}`,
  ],
  ['an SVG that is compressed', 'logo.svg', Bun.gzipSync(Buffer.from(svg))],
  ['an SVG with text behind many comments', 'logo.svg', `${svg}${'<!-- x -->'.repeat(2000)}x`],
  ['an SVG with text before it, behind many comments', 'logo.svg', `${'<!-- x -->'.repeat(2000)}x${svg}`],
  ['a PNG that is named .svg', 'logo.svg', png],
  ['an SVG that is named .png', 'logo.png', svg],
  ['a PNG that is cut short', 'logo.png', png.slice(0, -5)],
  ['a PNG with something behind it', 'logo.png', Buffer.concat([png, Buffer.from('<script>')])],
  ['a PNG without pixels', 'logo.png', pngLogo(0, 1)],
  ['an empty file', 'logo.png', ''],
  ['a file that is too large', 'logo.svg', svg.replace('>', `>${' '.repeat(maxLogoBytes)}`)],
  ['a JPEG', 'logo.jpeg', Buffer.from([0xff, 0xd8, 0xff])],
])('LATCHKEY_LOGO refuses %s', (_, name, content) => {
  const path = logoFile(name, content);
  expect(() => readConfig({ LATCHKEY_LOGO: path })).toThrow(/^LATCHKEY_LOGO .+\.$/);
});

test('LATCHKEY_LOGO refuses a file that is too large or missing, and a directory, and says which', () => {
  const logo = (path: string) => () => readConfig({ LATCHKEY_LOGO: path });
  expect(logo(logoFile('logo.svg', ' '.repeat(maxLogoBytes + 1)))).toThrow('64 KiB');
  const directory = join(temporaryDirectory(), 'logo.svg');
  mkdirSync(directory);
  for (const path of [directory, `${directory}/nowhere.svg`]) expect(logo(path)).toThrow(path);
});

test('the default sender has the name of the product, quoted where the syntax of addresses needs it', () => {
  const senderOf = (name: string) => readConfig({ LATCHKEY_PRODUCT_NAME: name }).mailFrom;
  expect(senderOf('Acme 7')).toBe('Acme 7 <no-reply@localhost>');
  expect(senderOf('Acme, "Inc" <b>')).toBe('"Acme, \\"Inc\\" <b>" <no-reply@localhost>');
  const env = { LATCHKEY_PRODUCT_NAME: 'Acme', LATCHKEY_MAIL_FROM: 'a@example.com' };
  expect(readConfig(env).mailFrom).toBe('a@example.com');
});
