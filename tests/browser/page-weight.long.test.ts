// The size and origin of each page's assets, with an empty cache.

import { expect, test } from 'bun:test';
import { gzipSync } from 'node:zlib';
import { languages } from '@latchkey/contract/languages';
import type { Response } from 'playwright-core';
import { newPage, untilIdle } from '../support/browser.ts';
import { service } from '../support/page-service.ts';
import { signIn } from '../support/people.ts';

const budgetBytes = { script: 47_000, stylesheet: 10_000 };
const pages = ['login', 'magic-link', 'device', 'account', 'verify-email', 'not-me', 'docs'];
const dashboardPages = pages.filter((name) => !name.startsWith('docs'));
const assetTypes = Object.keys(budgetBytes);
const hashedName = /^\/assets\/[a-z-]+-[0-9a-z]{8}\.(js|css)$/;

interface Loaded {
  readonly url: string;
  readonly type: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The size of a script or stylesheet, compressed. */
  readonly bytes: number;
}

const loaded = new Map<string, Promise<readonly Loaded[]>>();

/** All that a page loads for a signed-in user. Each page is loaded once, for all tests. */
function answersOf(path: string): Promise<readonly Loaded[]> {
  const answers = loaded.get(path) ?? load(path);
  loaded.set(path, answers);
  return answers;
}

async function load(path: string): Promise<readonly Loaded[]> {
  const page = await newPage();
  await signIn(page, service.url, 'weight@example.com');
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Network.setCacheDisabled', { cacheDisabled: true });
  const answers: Response[] = [];
  page.on('response', (answer) => void answers.push(answer));
  await page.goto(`${service.url}/${path}`);
  await untilIdle(page);
  return Promise.all(
    answers.map(async (answer) => {
      const type = answer.request().resourceType();
      const bytes = assetTypes.includes(type) ? gzipSync(await answer.body()).length : 0;
      return { url: answer.url(), type, headers: await answer.allHeaders(), bytes };
    }),
  );
}

test.each(pages)('/%s stays within its size budget and loads nothing from other origins', async (path) => {
  const answers = await answersOf(path);
  const hosts = answers
    .map(({ url }) => new URL(url))
    .filter(({ protocol }) => protocol !== 'data:')
    .map(({ origin }) => origin);
  expect([...new Set(hosts)]).toEqual([service.url]);
  const bytesOf = (type: string) =>
    answers.filter((answer) => answer.type === type).reduce((sum, { bytes }) => sum + bytes, 0);
  expect(bytesOf('stylesheet')).toBeWithin(1, budgetBytes.stylesheet);
  expect(bytesOf('script')).toBeLessThan(budgetBytes.script);
});

test('the account page, the largest, stays within its script budget in every language', async () => {
  for (const language of languages) {
    const html = await (
      await fetch(`${service.url}/account`, { headers: { 'Accept-Language': language } })
    ).text();
    expect(html).toContain(`<html lang="${language}">`);
    const files = [...html.matchAll(/"(\/assets\/[^"]+\.js)"/g)].map(([, file = '']) => file);
    const scripts = await Promise.all(files.map(async (file) => (await fetch(service.url + file)).text()));
    const bytes = scripts.reduce((sum, script) => sum + gzipSync(script).length, 0);
    expect(bytes).toBeGreaterThan(20_000);
    expect([language, bytes < budgetBytes.script, bytes]).toEqual([language, true, bytes]);
  }
});

test('each page preloads exactly the scripts it uses', async () => {
  for (const path of dashboardPages) {
    const answers = await answersOf(path);
    const scripts = answers.filter(({ type }) => type === 'script').map(({ url }) => new URL(url).pathname);
    const html = await (await fetch(`${service.url}/${path}`)).text();
    const named = [
      ...html.matchAll(/<(?:script type="module" src|link rel="modulepreload" href)="([^"]+)"/g),
    ].map(([, address = '']) => address);
    expect(named.length).toBeGreaterThan(1);
    expect([path, scripts.toSorted()]).toEqual([path, named.toSorted()]);
  }
});

test('every asset is compressed, named by its content and cached forever', async () => {
  const seen = new Set<string>();
  for (const path of dashboardPages) {
    const answers = await answersOf(path);
    for (const { url, headers } of answers.filter(({ type }) => assetTypes.includes(type))) {
      expect(new URL(url).pathname).toMatch(hashedName);
      expect(headers['cache-control']).toBe('public, max-age=31536000, immutable');
      seen.add(url);
    }
  }
  expect(seen.size).toBeGreaterThan(6);
  for (const url of [...seen, `${service.url}/login`, `${service.url}/docs`]) {
    const plain = await fetch(url, { headers: { 'Accept-Encoding': 'identity' } });
    const text = await plain.text();
    expect(plain.headers.get('Content-Encoding')).toBeNull();
    for (const coding of ['br', 'gzip']) {
      const ask = { headers: { 'Accept-Encoding': coding } };
      const answer = await fetch(url, { ...ask, decompress: false });
      const bytes = await answer.arrayBuffer();
      expect(answer.headers.get('Content-Encoding')).toBe(coding);
      expect(answer.headers.get('Vary')).toContain('Accept-Encoding');
      expect(bytes.byteLength).toBeLessThan(Buffer.byteLength(text));
      expect(await (await fetch(url, ask)).text()).toBe(text);
      const head = await fetch(url, { ...ask, method: 'HEAD', decompress: false });
      for (const name of ['Content-Encoding', 'Content-Length', 'ETag', 'Content-Type', 'Cache-Control'])
        expect([name, head.headers.get(name)]).toEqual([name, answer.headers.get(name)]);
      expect((await head.arrayBuffer()).byteLength).toBe(0);
      const again = await fetch(url, {
        headers: { ...ask.headers, 'If-None-Match': answer.headers.get('ETag') ?? '' },
      });
      expect([again.status, await again.text()]).toEqual([304, '']);
    }
  }
});

test('a page whose script fails to load says so after a delay, and a working page never does', async () => {
  const page = await newPage();
  const notice = page.getByText("This page couldn't load completely. Try reloading it.");
  await page.goto(`${service.url}/login`);
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  expect(await notice.count()).toBe(0);
  // As after a new release, whose files have other names.
  await page.route('**/assets/login-*.js', (route) => route.fulfill({ status: 404 }));
  await page.reload();
  expect(await notice.isVisible()).toBe(false);
  await notice.waitFor();
});
