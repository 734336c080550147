// A product with its own name, links and logo, on every page, in a real browser. Name and logo are hostile.

import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { newPage, untilIdle } from '../support/browser.ts';
import { signIn } from '../support/people.ts';
import { startService, temporaryDirectory } from '../support/service.ts';
import { shared } from '../support/shared.ts';
import { until } from '../support/until.ts';

const name = '<script>document.ran="name"</script> & "';
const hostile = `<?xml version="1.0"?>
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 80 20" width="80" height="20" onload="document.documentElement.setAttribute('data-ran', 'load')">
  <script>document.documentElement.setAttribute('data-ran', 'script'); fetch('/api/v1/auth/me');</script>
  <style>@import url('/assets/imported.css'); rect { fill: #0b57b4 }</style>
  <image href="/docs" width="1" height="1"/>
  <foreignObject width="80" height="20"><iframe xmlns="http://www.w3.org/1999/xhtml" src="/account"></iframe><img xmlns="http://www.w3.org/1999/xhtml" src="x" onerror="document.documentElement.setAttribute('data-ran', 'error')"/></foreignObject>
  <rect width="80" height="20"/>
</svg>
`;

const service = shared(() => {
  const logo = join(temporaryDirectory(), 'logo.svg');
  writeFileSync(logo, hostile);
  return startService({
    env: {
      LATCHKEY_PRODUCT_NAME: name,
      LATCHKEY_SUPPORT_URL: 'https://help.acme.example/',
      LATCHKEY_LOGO: logo,
    },
  });
});

/** What a page does that it should not: scripts that ran, and what the browser complained about. */
function watch(page: Page): string[] {
  const seen: string[] = [];
  page.on('console', (message) => void seen.push(message.text()));
  page.on('pageerror', (error) => void seen.push(String(error)));
  page.on('dialog', (dialog) => void seen.push(dialog.message()));
  return seen;
}

const ran = (page: Page) =>
  page.evaluate(() => [
    (document as { ran?: string }).ran ?? null,
    document.documentElement.getAttribute('data-ran'),
  ]);

const pages = [
  ['login?prompt=login', 'Sign in'],
  ['magic-link', 'Sign in'],
  ['device', 'Device sign-in'],
  ['account', 'Your account'],
  ['verify-email', 'Confirm your new email'],
  ['not-me', 'Was this you?'],
  ['nowhere', 'Page not found'],
] as const;

test('every page shows the name as text, the logo and the links, and runs nothing of them', async () => {
  const page = await newPage();
  await signIn(page, service.url, 'ada@example.com');
  const seen = watch(page);
  const requests: string[] = [];
  page.on('request', (request) => void requests.push(new URL(request.url()).pathname));
  for (const [path, title] of pages) {
    await page.goto(`${service.url}/${path}`);
    await untilIdle(page);
    expect(await page.title()).toBe(`${title} - ${name}`);
    expect((await page.locator('header').innerText()).trim()).toBe(name);
    const logo = page.locator('header img');
    expect(await logo.evaluate((image: HTMLImageElement) => [image.complete, image.naturalWidth])).toEqual([
      true,
      80,
    ]);
    const box = (await logo.boundingBox())!;
    expect([Math.round(box.width), Math.round(box.height)]).toEqual([128, 32]);
    const links = page.locator('footer a');
    expect(await links.allInnerTexts()).toEqual(['Help']);
    expect(await links.evaluateAll((all) => all.map((link) => (link as HTMLAnchorElement).href))).toEqual([
      'https://help.acme.example/',
    ]);
    expect(await ran(page)).toEqual([null, null]);
  }
  expect(seen.filter((text) => !text.includes('404'))).toEqual([]);
  expect(requests.filter((path) => !/^\/(assets\/|api\/|logo$)/.test(path)).sort()).toEqual(
    pages.map(([path]) => `/${path.split('?')[0]}`).sort(),
  );
});

test('what a page says about the service uses its name', async () => {
  const page = await newPage();
  await page.goto(`${service.url}/login`);
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.context().setOffline(true);
  await page.getByLabel('Email address').fill('ada@example.com');
  await page.getByRole('button', { name: 'Email me a link' }).click();
  await page.getByRole('alert').getByText(`Couldn't reach ${name}. Check your connection`).waitFor();
});

/** Opens the logo itself, and returns what ran and which other paths were answered. A script's requests do not delay the load event. */
async function openLogo(prepare: (page: Page) => Promise<unknown>, awaited: string[] = []) {
  const page = await newPage();
  await prepare(page);
  const answers: string[] = [];
  page.on('response', (answer) => void answers.push(new URL(answer.url()).pathname));
  // The load event waits for all that the file asks for.
  await page.goto(`${service.url}/logo`);
  await until(
    () => awaited.every((path) => answers.includes(path)),
    () => `answers to ${awaited}`,
  );
  const result = { ran: (await ran(page))[1], answers: answers.filter((path) => path !== '/logo') };
  await page.context().close();
  return result;
}

test('a browser that opens a hostile logo runs and requests nothing; its headers are what prevents it', async () => {
  expect(await openLogo(async () => {})).toEqual({ ran: null, answers: [] });
  const withoutHeaders = await openLogo(
    (page) =>
      page.route('**/logo', (route) =>
        route.fulfill({ status: 200, contentType: 'image/svg+xml', body: hostile }),
      ),
    ['/api/v1/auth/me'],
  );
  expect(withoutHeaders.ran).not.toBeNull();
});

test('a page that embeds the logo as a document gets nothing', async () => {
  const page = await newPage();
  await signIn(page, service.url, 'ada@example.com');
  await page.route('**/embedding', (route) =>
    route.fulfill({
      contentType: 'text/html',
      body: '<iframe src="/logo"></iframe><object data="/logo"></object>',
    }),
  );
  await page.goto(`${service.url}/embedding`);
  await untilIdle(page);
  const inside = await Promise.all(
    page
      .frames()
      .slice(1)
      .map((frame) => frame.evaluate(() => document.querySelector('svg') === null)),
  );
  expect(inside.length).toBeGreaterThan(0);
  expect(inside).not.toContain(false);
});
