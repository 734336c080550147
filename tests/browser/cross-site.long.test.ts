// Cross-site attacks with a user's cookie, in a real browser. The victim is signed in at `localhost`. The attacker's
// page is on another site (`127.0.0.1`), another origin of the same site (another port of `localhost`) or a sibling
// domain (`a.localhost`).

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { newPage } from '../support/browser.ts';
import { request } from '../support/http.ts';
import { service } from '../support/page-service.ts';
import { signIn } from '../support/people.ts';

const victim = 'victim@example.com';
let attacker: ReturnType<typeof Bun.serve>;
let page: Page;

beforeAll(async () => {
  const html = '<!doctype html><title>attack</title><body></body>';
  attacker = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: () => new Response(html, { headers: { 'Content-Type': 'text/html' } }),
  });
});

afterAll(async () => {
  await attacker.stop(true);
});

beforeEach(async () => {
  page = await newPage();
  await signIn(page, service.url, victim);
});

const isStillSignedIn = async () => {
  await page.goto(`${service.url}/account`);
  await page.locator('#profile-email').getByText(victim).waitFor();
};

const api = (path: string) => `${service.url}/api/v1/auth${path}`;

/** Requests that change something with only a cookie, and two that read. */
const calls: [method: string, path: string][] = [
  ['GET', '/me'],
  ['GET', '/sessions'],
  ['POST', '/revoke'],
  ['DELETE', '/logout'],
  ['DELETE', '/me'],
  ['PATCH', '/me'],
  ['POST', '/me/email'],
  ['POST', '/device/approve'],
  ['POST', '/authorize/approve'],
  ['POST', '/end_session/confirm'],
  ['POST', '/passkey/register/challenge'],
];

describe.each([
  ['another site', '127.0.0.1'],
  ['another port', 'localhost'],
  ['a sibling domain', 'a.localhost'],
])('a page on %s', (_, host) => {
  const openAttack = () => page.goto(`http://${host}:${attacker.port}/`);

  test('can neither read nor change anything with fetch', async () => {
    await openAttack();
    for (const [method, path] of calls) {
      for (const mode of ['cors', 'no-cors'] as const) {
        const read = await page.evaluate(
          async ([url, method, mode]) => {
            const needsBody = /(approve|email|me)$/.test(url) && method !== 'GET';
            const body = needsBody ? '{"email":"thief@example.com","user_code":"BBBB-BBBB"}' : null;
            try {
              const answer = await fetch(url, { method, mode, body, credentials: 'include' });
              return await answer.text();
            } catch {
              return '';
            }
          },
          [api(path), method, mode] as const,
        );
        expect([method, path, mode, read]).toEqual([method, path, mode, '']);
      }
    }
    await isStillSignedIn();
  });

  test('can neither sign a user out nor approve a device with a form of any encoding', async () => {
    const device = await request(service.url, 'POST', '/device');
    for (const [, path] of calls.filter(([method]) => method === 'POST')) {
      for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data']) {
        await openAttack();
        const answer = page.waitForResponse(api(path));
        const arrival = page.waitForURL(api(path));
        await page.evaluate(
          ([url, type, code]) => {
            const form = document.createElement('form');
            Object.assign(form, { method: 'post', action: url, enctype: type });
            const field = document.createElement('input');
            const name = type === 'text/plain' ? `{"user_code":"${code}","x":"` : 'user_code';
            Object.assign(field, { name, value: type === 'text/plain' ? '"}' : code });
            form.append(field);
            document.body.append(form);
            form.submit();
          },
          [api(path), type, device.body.user_code] as const,
        );
        expect((await answer).status()).toBeGreaterThanOrEqual(400);
        await arrival;
      }
    }
    const poll = await request(service.url, 'POST', '/token', {
      json: { device_code: device.body.device_code },
    });
    expect(poll.body.error).toBe('authorization_pending');
    await isStillSignedIn();
  });

  test('can only lead people to the page on which they sign out', async () => {
    for (const path of ['/end_session', '/end_session?client_id=svc_unknown']) {
      await openAttack();
      await page.evaluate((url) => {
        const form = document.createElement('form');
        Object.assign(form, { method: 'post', action: url });
        document.body.append(form);
        form.submit();
      }, api(path));
      await page.waitForURL(/\/sign-out/);
      await page.getByRole('button', { name: 'Sign out' }).waitFor();
      await isStillSignedIn();
    }
  });

  test('cannot embed any page in a frame or access a window it opens', async () => {
    await openAttack();
    for (const path of [
      '/login',
      '/account',
      '/device',
      '/authorize',
      '/sign-out',
      '/magic-link',
      '/not-me',
      '/verify-email',
      '/docs',
      '/nowhere',
    ]) {
      const refused = await page.evaluate(
        (url) =>
          new Promise<boolean>((resolve) => {
            const frame = document.createElement('iframe');
            frame.src = url;
            frame.onload = () => {
              try {
                resolve(frame.contentDocument === null && frame.contentWindow?.length === 0);
              } catch {
                resolve(true);
              }
            };
            document.body.append(frame);
          }),
        service.url + path,
      );
      expect([path, refused]).toEqual([path, true]);
      const shown = page.frames().filter((frame) => frame.url().startsWith(service.url));
      expect([path, shown.length]).toEqual([path, 0]);
    }
    const opened = page.waitForEvent('popup');
    await page.evaluate(
      (url) => Object.assign(window, { opened: window.open(url) }),
      `${service.url}/account`,
    );
    const popup = await opened;
    await popup.locator('#profile-email').waitFor();
    expect(await page.evaluate(() => (window as unknown as { opened: Window }).opened.closed)).toBe(true);
    expect(await popup.evaluate(() => window.opener)).toBeNull();
  });
});
