// Cross-site attacks with a user's cookie, in a real browser. The victim is signed in at `localhost`. The attacker's
// page is on another site (`127.0.0.1`), another origin of the same site (another port of `localhost`) or a sibling
// domain (`a.localhost`).

import { describe, expect, test } from 'bun:test';
import { outcome } from '#support/account.ts';
import { newPage } from '#support/browser.ts';
import { service } from '#support/common-service.ts';
import { pollDevice, startDevice } from '#support/devices.ts';
import { headed, signIn } from '#support/people.ts';
import { shared } from '#support/shared.ts';

const victim = 'victim@example.com';
const attacker = shared(async () =>
  Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: () =>
      new Response('<!doctype html><title>attack</title>', { headers: { 'Content-Type': 'text/html' } }),
  }),
);

const api = (path: string) => `${service.url}/api/v1/auth${path}`;
const posts = [
  ...['/revoke', '/me/email', '/device/approve', '/authorize/approve', '/end_session/confirm'],
  '/passkey/register/challenge',
];

/** Requests that change something with only a cookie, and two that read. */
const calls = [
  ...['GET /me', 'GET /sessions', 'DELETE /logout', 'DELETE /me', 'PATCH /me'],
  ...posts.map((path) => `POST ${path}`),
];

const paths = ['login', 'account', 'device', 'authorize', 'sign-out', 'magic-link', 'not-me', 'verify-email'];

describe.each([
  ['another site', '127.0.0.1'],
  ['another port', 'localhost'],
  ['a sibling domain', 'a.localhost'],
])('a page on %s', (_, host) => {
  /** The page of the attacker in the browser of the victim. */
  async function openAttack() {
    const page = await newPage();
    await signIn(page, service.url, victim);
    const attack = () => page.goto(`http://${host}:${attacker.port}/`);
    await attack();
    const isStillSignedIn = async () => {
      await page.goto(`${service.url}/account`);
      await page.locator('#profile-email').getByText(victim).waitFor();
    };
    /** Submits a form with one field, as any page can. */
    const submit = (path: string, type = '', field: readonly [name: string, value: string] = ['', '']) =>
      page.evaluate(
        ([url, enctype, [name, value]]) => {
          const form = document.createElement('form');
          Object.assign(form, { method: 'post', action: url, enctype });
          const input = document.createElement('input');
          Object.assign(input, { name, value });
          form.append(input);
          document.body.append(form);
          form.submit();
        },
        [api(path), type, field] as const,
      );
    return { page, attack, submit, isStillSignedIn };
  }

  test('can neither read nor change anything with fetch', async () => {
    const { page, isStillSignedIn } = await openAttack();
    for (const call of calls) {
      const [method = '', path = ''] = call.split(' ');
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
        expect([call, mode, read]).toEqual([call, mode, '']);
      }
    }
    await isStillSignedIn();
  });

  test('can neither sign a user out nor approve a device with a form of any encoding, and can only lead people to the page on which they sign out', async () => {
    const { page, attack, submit, isStillSignedIn } = await openAttack();
    const device = await startDevice(service);
    for (const path of posts) {
      for (const [type, field] of [
        ['application/x-www-form-urlencoded', ['user_code', device.user_code]],
        ['text/plain', [`{"user_code":"${device.user_code}","x":"`, '"}']],
        ['multipart/form-data', ['user_code', device.user_code]],
      ] as const) {
        await attack();
        const answer = page.waitForResponse(api(path));
        const arrival = page.waitForURL(api(path));
        await submit(path, type, field);
        expect((await answer).status()).toBeGreaterThanOrEqual(400);
        await arrival;
      }
    }
    expect(outcome(await pollDevice(service, device))).toBe('400 authorization_pending');
    for (const path of ['/end_session', '/end_session?client_id=svc_unknown']) {
      await attack();
      await submit(path);
      await page.waitForURL(/\/sign-out/);
      await page.getByRole('button', { name: 'Sign out' }).waitFor();
      await isStillSignedIn();
    }
  });

  test('cannot embed any page in a frame or access a window it opens', async () => {
    const { page } = await openAttack();
    for (const path of [...paths, 'docs', 'nowhere']) {
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
        `${service.url}/${path}`,
      );
      const shown = page.frames().filter((frame) => frame.url().startsWith(service.url));
      expect([path, refused, shown.length]).toEqual([path, true, 0]);
    }
    const opened = page.waitForEvent('popup');
    await page.evaluate(
      (url) => Object.assign(window, { opened: window.open(url) }),
      `${service.url}/account`,
    );
    const popup = await opened;
    await headed(popup, 'Your account');
    expect(await page.evaluate(() => (window as unknown as { opened: Window }).opened.closed)).toBe(true);
    expect(await popup.evaluate(() => window.opener)).toBeNull();
  });
});
