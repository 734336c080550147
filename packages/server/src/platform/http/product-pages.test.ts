// The product on pages: its name, its links and its logo.

import { expect, test } from 'bun:test';
import { openApp, type TestApp } from '#support/app.ts';
import { logoFile, pngLogo } from '#support/logos.ts';
import { withProduct } from './pages.ts';

const pages = ['login', 'magic-link', 'device', 'account', 'verify-email', 'not-me', 'nowhere'];
const html = { Accept: 'text/html' };
const svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 10"><script>alert(1)</script></svg>';

const pageOf = async (app: TestApp, name: string) => (await app.ask('GET', name, { headers: html })).text;

test('every page has the name in its title and header, escaped, and the links below; so has the API reference', async () => {
  const app = await openApp('sqlite', {
    settings: {
      LATCHKEY_PRODUCT_NAME: '<b>"{{footer}} & $&',
      LATCHKEY_SUPPORT_URL: 'https://help.acme.example/',
      LATCHKEY_TERMS_URL: 'https://acme.example/terms',
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
      '</main>\n<footer><a href="https://help.acme.example/">Help</a>\n<a href="https://acme.example/terms">Terms</a></footer>\n</body>',
    );
    expect(text).not.toContain('Latchkey');
  }
  const reference = await pageOf(app, 'docs');
  expect(/<title>(.*)<\/title>/.exec(reference)?.[1]).toEndWith(`${escaped} API`);
  expect(reference).toContain(`</span> ${escaped} API</a>`);
  expect(reference).not.toContain('Latchkey API');
});

test('without settings pages are those of Latchkey, with no footer, no logo and no place left open', async () => {
  const app = await openApp('sqlite');
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
