// A product with its own name, links and logo, on every page, in a real browser. Name and logo are hostile. What the pages and
// the logo hold: packages/server/src/platform/http/pages.test.ts.

import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { goOffline, newPage, untilIdle } from '#support/browser.ts';
import { signIn } from '#support/people.ts';
import { startService, temporaryDirectory } from '#support/service.ts';
import { shared } from '#support/shared.ts';
import { until } from '#support/until.ts';

const name = '<script>document.ran="name"</script> & "';
const marking = (how: string) => `document.documentElement.setAttribute('data-ran', '${how}')`;
const hostile = `<?xml version="1.0"?>
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 80 20" width="80" height="20" onload="${marking('load')}">
  <script>${marking('script')}; fetch('/api/v1/auth/me');</script>
  <style>@import url('/assets/imported.css'); rect { fill: #0b57b4 }</style>
  <image href="/docs" width="1" height="1"/>
  <foreignObject width="80" height="20"><iframe xmlns="http://www.w3.org/1999/xhtml" src="/account"></iframe><img xmlns="http://www.w3.org/1999/xhtml" src="x" onerror="${marking('error')}"/></foreignObject>
  <rect width="80" height="20"/>
</svg>
`;

const service = shared(() => {
  const logo = join(temporaryDirectory(), 'logo.svg');
  writeFileSync(logo, hostile);
  return startService({ env: { LATCHKEY_PRODUCT_NAME: name, LATCHKEY_LOGO: logo } });
});

const ran = (page: Page) =>
  page.evaluate(() => [
    (document as { ran?: string }).ran ?? null,
    document.documentElement.getAttribute('data-ran'),
  ]);

test('every page shows the name as text, also in what it says, and the logo, and runs and requests nothing of them', async () => {
  const page = await newPage();
  await signIn(page, service.url, 'ada@example.com');
  const complaints: string[] = [];
  page.on('console', (message) => void complaints.push(message.text()));
  page.on('pageerror', (error) => void complaints.push(String(error)));
  page.on('dialog', (dialog) => void complaints.push(dialog.message()));
  const requests: string[] = [];
  page.on('request', (request) => void requests.push(new URL(request.url()).pathname));
  const pages = ['login', 'magic-link', 'device', 'account', 'verify-email', 'not-me', 'nowhere'];
  for (const path of pages) {
    await page.goto(`${service.url}/${path}`);
    await untilIdle(page);
    expect(await page.title()).toEndWith(` - ${name}`);
    expect((await page.locator('header').innerText()).trim()).toBe(name);
    const logo = page.locator('header img');
    expect(await logo.evaluate((image: HTMLImageElement) => image.complete && image.naturalWidth)).toBe(80);
    const { width, height } = (await logo.boundingBox())!;
    expect([Math.round(width), Math.round(height)]).toEqual([128, 32]);
    expect(await ran(page)).toEqual([null, null]);
  }
  expect(complaints.filter((text) => !text.includes('404'))).toEqual([]);
  const ownPaths = requests.filter((path) => !/^\/(assets\/|api\/|logo$)/.test(path));
  expect(ownPaths.sort()).toEqual(pages.map((path) => `/${path}`).sort());

  await page.goto(`${service.url}/account`);
  await goOffline(page);
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.getByRole('alert').getByText(`Couldn't reach ${name}. Check your connection`).waitFor();
});

test('a browser that opens or embeds a hostile logo runs, requests and shows nothing of it; its headers are what prevents it', async () => {
  const page = await newPage();
  const answers: string[] = [];
  page.on('response', (answer) => void answers.push(new URL(answer.url()).pathname));
  // The load event waits for all that the file asks for.
  await page.goto(`${service.url}/logo`);
  expect([(await ran(page))[1], answers]).toEqual([null, ['/logo']]);

  await page.route('**/embedding', (route) =>
    route.fulfill({
      contentType: 'text/html',
      body: '<iframe src="/logo"></iframe><object data="/logo"></object>',
    }),
  );
  await page.goto(`${service.url}/embedding`);
  await untilIdle(page);
  const [, ...inside] = page.frames();
  const isEmpty = inside.map((frame) => frame.evaluate(() => document.querySelector('svg') === null));
  expect(isEmpty.length).toBeGreaterThan(0);
  expect(await Promise.all(isEmpty)).not.toContain(false);

  await page.route('**/logo', (route) => route.fulfill({ contentType: 'image/svg+xml', body: hostile }));
  await page.goto(`${service.url}/logo`);
  // The requests of a script do not delay the load event.
  await until(() => answers.includes('/api/v1/auth/me'), 'the request of the script in the logo');
  expect((await ran(page))[1]).not.toBeNull();
});
