// Links in emails about an account, in a real browser against the real service, and hostile names on pages. As a stranger opens
// the link of an email change: pages-keyboard.test.ts.

import { expect, test } from 'bun:test';
import { newPage } from '#support/browser.ts';
import { loginByMail, request } from '#support/http.ts';
import { service } from '#support/page-service.ts';
import { headed, linkTo, pressed, signIn } from '#support/people.ts';

test('the owner of an email change confirms it with one click', async () => {
  const page = await newPage();
  await signIn(page, service.url, 'mine@example.com');
  const { access_token: token } = await loginByMail(service.url, 'mine@example.com');
  await request(service.url, 'POST', '/me/email', { token, json: { email: 'mine@new.example' } });
  await page.goto(await linkTo(service.url, 'mine@new.example', 'Confirm your new address'));
  await page.getByText('will change from mine@example.com to mine@new.example').waitFor();
  expect(await page.getByRole('textbox').count()).toBe(0);
  await pressed(page, 'Change email');
  await headed(page, 'Email changed');
  expect(await page.locator('#new-email').innerText()).toBe('mine@new.example');
});

const hostile = {
  client_name: 'Latchkey” Approved by Latchkey ✓ Open https://evil.example “ok',
  device_name: `\u202Egpj.exe\u202C \u2066x\u2069 \u200B\u3164 z${'\u0300'.repeat(60)}`,
};

test('hostile names stay inside their quotes and do not disturb the layout', async () => {
  const page = await newPage({ viewport: { width: 390, height: 844 } });
  await signIn(page, service.url, 'target@example.com');
  const userAgent = `<script>document.title='owned'</script> ${'Mozilla '.repeat(60)}`;
  const start = await request(service.url, 'POST', '/device', {
    json: hostile,
    headers: { 'User-Agent': userAgent },
  });
  const isHarmless = async () => {
    const texts = await page.locator('q.untrusted').allInnerTexts();
    expect(texts.length).toBeGreaterThan(0);
    for (const text of texts) {
      expect(text.replace(/^[“"]|[”"]$/g, '')).not.toMatch(/["“”\u202A-\u202E\u2066-\u2069\u200B\u3164]/u);
    }
    const wide = 'document.documentElement.scrollWidth > document.documentElement.clientWidth';
    expect(await page.evaluate(wide)).toBe(false);
    expect(await page.title()).not.toBe('owned');
  };
  await page.goto(start.body.verification_uri_complete);
  await headed(page, 'Let this device sign in as you?');
  await isHarmless();
  await pressed(page, 'Approve');
  await headed(page, 'Approved');
  await request(service.url, 'POST', '/token', { json: { device_code: start.body.device_code } });
  await page.goto(`${service.url}/account`);
  await page.locator('#sessions li').first().waitFor();
  await isHarmless();
});
