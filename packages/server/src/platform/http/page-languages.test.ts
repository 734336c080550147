// Which language a page is served in.

import { expect, test } from 'bun:test';
import { languages } from '@latchkey/contract/languages';
import { openApp } from '#support/app.ts';
import { shared } from '#support/shared.ts';

const paths = ['login', 'magic-link', 'device', 'account', 'verify-email', 'not-me', 'nowhere'];
const app = shared(() => openApp('sqlite'));

const pageFor = (headers: Record<string, string>, path = 'login') =>
  app.ask('GET', path, { headers: { Accept: 'text/html', ...headers } });

test('every page is in the language that the browser prefers, and says so', async () => {
  for (const path of paths) {
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
