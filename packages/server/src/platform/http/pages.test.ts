// Pages: the language that each is served in, and the product on them, with its name, its links and its logo.

import { expect, test } from 'bun:test';
import { languages } from '@latchkey/contract/languages';
import { openApp, type TestApp } from '#support/app.ts';
import { logoFile, pngLogo } from '#support/logos.ts';
import { shared } from '#support/shared.ts';
import { withProduct } from './pages.ts';

const pages = ['login', 'magic-link', 'device', 'account', 'verify-email', 'not-me', 'nowhere'];
const app = shared(() => openApp('sqlite'));

const pageFor = (headers: Record<string, string>, path = 'login') =>
  app.ask('GET', path, { headers: { Accept: 'text/html', ...headers } });

test('every page is in the language that the browser prefers, and says so', async () => {
  for (const path of pages) {
    const titles = new Set<string | undefined>();
    for (const language of languages) {
      const page = await pageFor({ 'Accept-Language': `sv, ${language};q=0.9, en;q=0.8` }, path);
      expect(page.text).toStartWith(`<!doctype html>\n<html lang="${language}">`);
      expect(page.headers.get('Content-Language')).toBe(language);
      expect(page.headers.get('Vary')).toContain('Accept-Language, Cookie');
      titles.add(/<title>(.*)<\/title>/.exec(page.text)?.[1]);
    }
    expect([path, titles.size]).toEqual([path, languages.length]);
  }
});

test('a page loads the texts of its own language and of no other', async () => {
  for (const language of languages) {
    const { text } = await pageFor({ 'Accept-Language': language }, 'account');
    const [texts, ...others] = [...text.matchAll(/<script type="module" src="([^"]+)"/g)].map(
      ([, file = '']) => file,
    );
    expect(texts).toStartWith(`/assets/account-${language.toLowerCase()}-`);
    expect(others).toHaveLength(1);
    const script = (await app.ask('GET', texts!.slice(1))).text;
    expect(script).toMatch(/^globalThis\.latchkeyTexts=\{"common":/);
  }
});

test('the language that the account page stored wins over the one that the browser prefers', async () => {
  const shown = async (cookie: string) => {
    const headers = { 'Accept-Language': 'de', Cookie: `a=b; latchkey_language=${cookie}` };
    return (await pageFor(headers)).headers.get('Content-Language');
  };
  for (const language of languages) expect(await shown(language)).toBe(language);
  for (const none of ['', 'xx', 'DE', 'de-CH', 'constructor', '"fr"', 'fr; latchkey_language=es'])
    expect([none, await shown(none)]).toEqual([none, 'de']);
});

test('over HTTPS only the cookie that is bound to this host counts', async () => {
  const secure = await openApp('sqlite', { settings: { LATCHKEY_BASE_URL: 'https://login.example.com' } });
  const shown = async (cookie: string) =>
    (await secure.ask('GET', 'login', { headers: { Cookie: cookie } })).headers.get('Content-Language');
  expect(await shown('latchkey_language=fr')).toBe('en');
  expect(await shown('__Host-latchkey_language=fr')).toBe('fr');
});

test('a browser that changes its language gets the page again, not 304', async () => {
  const tag = (await pageFor({ 'Accept-Language': 'en' })).headers.get('ETag')!;
  expect((await pageFor({ 'Accept-Language': 'en', 'If-None-Match': tag })).status).toBe(304);
  expect((await pageFor({ 'Accept-Language': 'fr', 'If-None-Match': tag })).status).toBe(200);
});

const svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 10"><script>alert(1)</script></svg>';

const pageOf = async (of: TestApp, name: string) =>
  (await of.ask('GET', name, { headers: { Accept: 'text/html' } })).text;

test('every page has the name in its title and header, escaped, and the links below; so has the API reference', async () => {
  const app = await openApp('sqlite', {
    settings: {
      LATCHKEY_PRODUCT_NAME: '<b>"{{footer}} & $&',
      LATCHKEY_SUPPORT_URL: 'https://help.acme.example/',
      LATCHKEY_LEGAL_URL: 'https://acme.example/legal',
    },
  });
  const escaped = '&#60;b&#62;&#34;{{footer}} &#38; $&#38;';
  for (const name of pages) {
    const text = await pageOf(app, name);
    expect(text).toMatch(/^<!doctype html>/);
    expect(/<title>(.+) - (.+)<\/title>/.exec(text)?.[2]).toBe(escaped);
    expect(text).toContain(`<meta name="application-name" content="${escaped}">`);
    expect(text).toContain(`<header><a href="/account"><span class="mark"></span> ${escaped}</a></header>`);
    expect(text).toContain(
      '</main>\n<footer><a href="https://help.acme.example/">Help</a>\n<a href="https://acme.example/legal">Legal</a></footer>\n</body>',
    );
    expect(text).not.toContain('Latchkey');
  }
  const reference = await pageOf(app, 'docs');
  expect(/<title>(.*)<\/title>/.exec(reference)?.[1]).toEndWith(`${escaped} API`);
  expect(reference).toContain(`</span> ${escaped} API</a>`);
  expect(reference).not.toContain('Latchkey API');
});

test('without settings pages are those of Latchkey, with no footer, no logo and no place left open', async () => {
  for (const name of pages) {
    const text = await pageOf(app, name);
    expect(text).toContain(' - Latchkey</title>');
    expect(text).not.toMatch(/<footer|<img|\{\{|\}\}|undefined/);
  }
  expect((await app.ask('GET', 'logo')).status).toBe(404);
  expect(withProduct('{{name}} {{other}} {name}', app.ctx.config.product)).toBe('Latchkey {{other}} {name}');
});

test('an SVG logo is served as an image that may run and load nothing', async () => {
  const app = await openApp('sqlite', { settings: { LATCHKEY_LOGO: logoFile('logo.svg', svg) } });
  const { status, headers, text } = await app.ask('GET', 'logo');
  expect([status, text]).toEqual([200, svg]);
  expect(headers.get('Content-Type')).toBe('image/svg+xml');
  expect(headers.get('X-Content-Type-Options')).toBe('nosniff');
  expect(headers.get('Cross-Origin-Resource-Policy')).toBe('same-origin');
  expect(headers.get('Cache-Control')).toBe('public, max-age=86400');
  const policy = headers.get('Content-Security-Policy')!;
  expect(policy.split('; ').filter((part) => !part.endsWith(" 'none'"))).toEqual([
    "style-src 'unsafe-inline'",
    'img-src data:',
    'sandbox',
  ]);
  expect(policy).toStartWith("default-src 'none'; ");
  for (const name of ['base-uri', 'form-action', 'frame-ancestors'])
    expect(policy).toContain(`${name} 'none'`);
  const again = await app.ask('GET', 'logo', { headers: { 'If-None-Match': headers.get('ETag')! } });
  expect([again.status, again.headers.get('Content-Security-Policy')]).toEqual([304, policy]);
  expect((await app.ask('POST', 'logo')).status).toBe(405);
});

test('pages show the logo with its ratio, under an address that changes with the file', async () => {
  const addressOf = async (file: string) => {
    const app = await openApp('sqlite', { settings: { LATCHKEY_LOGO: file } });
    const text = await pageOf(app, 'login');
    const [, address = '', size] = /<img class="logo" src="([^"]+)" alt=""([^>]*)> Latchkey<\/a>/.exec(text)!;
    expect(text).toContain(`<link rel="icon" href="${address}">`);
    expect((await app.ask('GET', address.slice(1))).status).toBe(200);
    await app.close();
    return { address, size };
  };
  const first = await addressOf(logoFile('logo.svg', svg));
  expect(first).toEqual({
    address: expect.stringMatching(/^\/logo\?v=[\w-]{8}$/),
    size: ' width="40" height="10"',
  });
  expect(await addressOf(logoFile('renamed.svg', svg))).toEqual(first);
  const changed = await addressOf(logoFile('logo.svg', svg.replace(' viewBox="0 0 40 10"', '')));
  expect(changed.address).not.toBe(first.address);
  expect(changed.size).toBe('');
});

test('a PNG logo is served byte for byte', async () => {
  const bytes = pngLogo(30, 20);
  const app = await openApp('sqlite', { settings: { LATCHKEY_LOGO: logoFile('logo.png', bytes) } });
  const response = await app.fetch(`${app.ctx.config.baseUrl}/logo`, {});
  expect(response.headers.get('Content-Type')).toBe('image/png');
  expect(new Uint8Array(await response.arrayBuffer())).toEqual(bytes);
});
