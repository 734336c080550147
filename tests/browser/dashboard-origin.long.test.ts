// The guide for a dashboard on another origin, in a real browser: its program on an origin of the same site, and what a
// page of another site can do.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { newPage, untilIdle } from '#support/browser.ts';
import type { Home } from '#support/cli.ts';
import { allBlocks, exampleText, expectParts, openTerminal, readerOf, startBlock } from '#support/guides.ts';
import { codeIn, mailTo } from '#support/http.ts';
import {
  button,
  giveAuthenticator,
  newAddress,
  pressed,
  signIn as signInOnOwnPages,
} from '#support/people.ts';
import { reservePort } from '#support/reserved-port.ts';
import { startService } from '#support/service.ts';
import { shared } from '#support/shared.ts';

declare const tokens: typeof import('../../examples/dashboard/tokens.ts');

const document = 'docs/dashboard-origin.md';
const port = reservePort();
/** Of the same site as the service, whose host is `localhost`. */
const sameSite = `http://localhost:${port}`;
const otherSite = `http://127.0.0.1:${port}`;

const service = shared(() => startService({ env: { LATCHKEY_ALLOWED_ORIGINS: `${sameSite},${otherSite}` } }));
let home: Home;
let stop: () => Promise<void>;

beforeAll(async () => {
  home = readerOf(service);
  const [, register, serve] = await allBlocks(document, 'sh', 3);
  const terminal = openTerminal(home, {});
  expect((await terminal.run(register)).code).toBe(0);
  const isReady = () => fetch(sameSite).then(({ ok }) => ok);
  stop = await startBlock(home, serve, { PORT: String(port) }, isReady);
});

afterAll(async () => {
  await stop();
});

/** Asks for the code of an email on the page of the guide. */
async function requestCode(page: Page, email: string): Promise<string> {
  await page.goto(sameSite);
  await page.getByLabel('Email address').fill(email);
  await pressed(page, 'Email me a code');
  const code = codeIn(await mailTo(service.url, email));
  // The page can use the code only with the response, which may come later.
  await untilIdle(page);
  return code;
}

async function enterCode(page: Page, code: string): Promise<void> {
  await page.getByLabel('Code from the email').fill(code);
  await pressed(page, 'Sign in');
}

const shows = (page: Page, email: string) => page.locator('#email').getByText(email).waitFor();

async function signIn(page: Page, email = newAddress()): Promise<void> {
  await enterCode(page, await requestCode(page, email));
  await shows(page, email);
}

describe('a dashboard on another origin of the same site', () => {
  test('says what Latchkey says about a wrong code, signs in with a cookie that no script can read, calls its own server, and signs out; whoever signs in on the pages of Latchkey is signed in here, too', async () => {
    const page = await newPage();
    const email = newAddress();
    const code = await requestCode(page, email);
    await enterCode(page, '0000-0000');
    await page.getByRole('alert').getByText(/\w/).waitFor();
    expect(await page.locator('#email').textContent()).toBe('');
    await enterCode(page, code);
    await shows(page, email);
    await page.locator('#projects').getByText('"user":"usr_').waitFor();
    expect(await page.evaluate(() => globalThis.document.cookie)).toBe('');
    await page.reload();
    await shows(page, email);
    await page.goto(`${service.url}/account`);
    await page.locator('#profile-email').getByText(email).waitFor();

    await page.goto(sameSite);
    await pressed(page, 'Sign out');
    await button(page, 'Email me a code').waitFor();
    await page.goto(`${service.url}/account`);
    await page.waitForURL(/\/login/);
    await signInOnOwnPages(page, service.url, 'grace@example.com');
    await page.goto(sameSite);
    await shows(page, 'grace@example.com');
  });

  test('adds a passkey after a recent sign-in, and signs in with it', async () => {
    const page = await newPage();
    const email = newAddress();
    await giveAuthenticator(page);
    await signIn(page, email);
    const added = await page.evaluate(async (api) => {
      const post = (path: string, body?: unknown) =>
        fetch(api + path, {
          method: 'POST',
          credentials: 'include',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify(body),
        });
      const options = await (await post('/passkey/register/challenge')).json();
      const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
      const credential = (await navigator.credentials.create({ publicKey })) as PublicKeyCredential;
      return (await post('/passkey/register', credential.toJSON())).status;
    }, `${service.url}/api/v1/auth`);
    expect(added).toBe(201);

    await pressed(page, 'Sign out');
    await pressed(page, 'Sign in with a passkey');
    await shows(page, email);
  });

  test('is the program of the guide', async () => {
    await expectParts(document, 'js', 'dashboard/page.js');
    expect(await allBlocks(document, 'ts', 1)).toEqual([await exampleText('dashboard/tokens.ts')]);
    const [start] = await allBlocks(document, 'sh', 3);
    expect(start).toBe('LATCHKEY_ALLOWED_ORIGINS=http://localhost:3000 npm start\n');
  });
});

describe('a page of another site', () => {
  test('is signed out, although the browser has the cookie', async () => {
    const page = await newPage();
    await signIn(page);
    await page.goto(otherSite);
    await button(page, 'Email me a code').waitFor();
  });

  test('signs in with tokens, without a cookie', async () => {
    const page = await newPage();
    // A response without the policy of the dashboard, which forbids the script of this test.
    await page.goto(`${otherSite}/settings`);
    await page.addScriptTag({ type: 'module', content: await bundle('dashboard/tokens.ts') });
    await page.waitForFunction(() => 'tokens' in globalThis);
    const email = newAddress();
    const ticket = await page.evaluate((address) => tokens.requestCode(address), email);
    const code = codeIn(await mailTo(service.url, email));
    await page.evaluate(([request, typed]) => tokens.signIn(request, typed), [ticket, code] as const);
    const user = await page.evaluate(() => tokens.session.call('getProfile'));
    expect(user.email).toBe(email);
    expect(await page.context().cookies()).toEqual([]);
  });
});

/** An example for this service as one script, with its exports in the global `tokens`. */
async function bundle(example: string): Promise<string> {
  const entry = join(home.path, 'tokens.ts');
  const text = await exampleText(example);
  await Bun.write(entry, text.replace('http://localhost:8787', service.url));
  const main = join(home.path, 'main.ts');
  await Bun.write(main, "import * as tokens from './tokens.ts';\nObject.assign(globalThis, { tokens });\n");
  const { outputs } = await Bun.build({ entrypoints: [main], target: 'browser' });
  return (await outputs[0]?.text()) ?? '';
}
