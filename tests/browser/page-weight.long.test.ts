// What each page loads with an empty cache: how much, from where, and under which names.

import { expect, test } from 'bun:test';
import { gzipSync } from 'node:zlib';
import type { Response } from 'playwright-core';
import { newPage, untilIdle } from '#support/browser.ts';
import { service } from '#support/common-service.ts';
import { signIn } from '#support/people.ts';

const budgetBytes: Readonly<Record<string, number>> = { script: 47_000, stylesheet: 10_000 };
const pages = ['login', 'magic-link', 'device', 'account', 'verify-email', 'not-me', 'docs'];
const hashedName = /^\/assets\/[a-z-]+-[0-9a-z]{8}\.(js|css)$/;

test.each(pages)(
  '/%s stays within its size budget, loads nothing from other origins, preloads exactly the scripts it uses, and each asset is compressed, named by its content and cached forever',
  async (path) => {
    const page = await newPage();
    await signIn(page, service.url, 'weight@example.com');
    const cdp = await page.context().newCDPSession(page);
    await cdp.send('Network.setCacheDisabled', { cacheDisabled: true });
    const answers: Response[] = [];
    page.on('response', (answer) => void answers.push(answer));
    await page.goto(`${service.url}/${path}`);
    await untilIdle(page);
    const urls = answers.map((answer) => new URL(answer.url()));
    const origins = urls.filter(({ protocol }) => protocol !== 'data:').map(({ origin }) => origin);
    expect([...new Set(origins)]).toEqual([service.url]);

    for (const [type, budget] of Object.entries(budgetBytes)) {
      let bytes = 0;
      for (const asset of answers.filter((answer) => answer.request().resourceType() === type)) {
        const body = await asset.body();
        bytes += gzipSync(body).length;
        expect(new URL(asset.url()).pathname).toMatch(hashedName);
        expect(await asset.allHeaders()).toMatchObject({
          'cache-control': 'public, max-age=31536000, immutable',
          'content-encoding': expect.stringMatching(/^(br|gzip)$/),
        });
      }
      expect([type, bytes > 0, bytes < budget, bytes]).toEqual([type, true, true, bytes]);
    }
    if (path === 'docs') return;
    const html = await (await fetch(`${service.url}/${path}`)).text();
    const tags = /<(?:script type="module" src|link rel="modulepreload" href)="([^"]+)"/g;
    const named = [...html.matchAll(tags)].map(([, address = '']) => address);
    const scripts = answers.filter((answer) => answer.request().resourceType() === 'script');
    expect(scripts.map((answer) => new URL(answer.url()).pathname).toSorted()).toEqual(named.toSorted());
  },
);

test('a page whose script fails to load says so after a delay, and a working page never does', async () => {
  const page = await newPage();
  const notice = page.getByText("This page couldn't load completely. Try reloading it.");
  await page.goto(`${service.url}/login`);
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  expect(await notice.count()).toBe(0);
  // As after a new release, whose files have other names.
  await page.route('**/assets/login-*.js', (route) => route.fulfill({ status: 404 }));
  await page.reload();
  const appears = await notice.evaluate((element) => {
    const { animationName, animationDelay, animationFillMode } = getComputedStyle(element);
    return [animationName, animationDelay, animationFillMode];
  });
  expect(appears).toEqual(['appear', '5s', 'backwards']);
  await notice.waitFor();
});
