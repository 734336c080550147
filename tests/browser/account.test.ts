// Links in emails about an account, in a real browser against the real service, and hostile names on pages. As a stranger opens
// the link of an email change: pages-keyboard.test.ts.

import { expect, test } from 'bun:test';
import { newPage } from '#support/browser.ts';
import { deviceTokens, loginByMail, mailAbout, request } from '#support/http.ts';
import { service } from '#support/page-service.ts';
import { headed, linkTo, pressed, signIn } from '#support/people.ts';

const statusOf = async (token: string) => (await request(service.url, 'GET', '/me', { token })).status;

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

test('"This wasn\'t me" signs out a device with one click, without signing in, and then the session that approved it; after a reload the page refers to the email for that', async () => {
  const email = 'approver@example.com';
  const own = await loginByMail(service.url, email);
  const device = await deviceTokens(service.url, own.access_token, { device_name: 'strange laptop' });
  const link = await linkTo(service.url, email, 'A new device signed in');
  const page = await newPage();
  await page.goto(link);
  await pressed(page, "This wasn't me");
  await page.getByText('The device has been signed out').waitFor();
  expect(await page.locator('#undone').innerText()).toContain('strange laptop');
  expect(await Promise.all([device, own].map((one) => statusOf(one.access_token)))).toEqual([401, 200]);
  await headed(page, 'Who approved the device?');
  await page.reload();
  await page.getByText('open the link in the email again').waitFor();
  expect(await page.getByRole('button', { name: 'Undo everything since then' }).count()).toBe(0);

  await page.goto('about:blank');
  await page.goto(link);
  await pressed(page, "This wasn't me");
  await pressed(page, 'Undo everything since then');
  await page.getByText('Everything since the session that approved the device began').waitFor();
  expect(await statusOf(own.access_token)).toBe(401);
  expect(await page.locator('#undone').innerText()).toContain('1 browser session ended');
  await page.reload();
  await headed(page, 'Thanks for letting us know');
  expect(await page.locator('#approver').count()).toBe(0);
  await mailAbout(service.url, email, 'What was undone in your Latchkey account');
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
