// Changing the email, deleting the account and "This wasn't me", in a real browser against the real service.

import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { newPage } from '../support/browser.ts';
import { deviceTokens, linkIn, loginByMail, mailAbout, request } from '../support/http.ts';
import { service } from '../support/page-service.ts';
import { linkTo, signIn as signInAt } from '../support/people.ts';

const signIn = (page: Page, email: string) => signInAt(page, service.url, email);

test('a user changes their email on the pages and undoes it through the security notice', async () => {
  const page = await newPage();
  await signIn(page, 'before@example.com');
  await page.getByRole('button', { name: 'Change email' }).click();
  await page.getByLabel('New email address').fill('nonsense');
  await page.getByRole('button', { name: 'Send confirmation link' }).click();
  await page.getByText("That doesn't look like an email address").waitFor();
  await page.getByLabel('New email address').fill('after@example.com');
  await page.getByRole('button', { name: 'Send confirmation link' }).click();
  await page.getByText('We sent a link to after@example.com').waitFor();
  const link = await linkTo(service.url, 'after@example.com', 'Confirm your new address');
  const elsewhere = await newPage();
  await elsewhere.goto(link);
  const confirm = async (address: string) => {
    await elsewhere.getByLabel('Current email address').fill(address);
    await elsewhere.getByRole('button', { name: 'Change email' }).click();
  };
  await confirm('');
  await elsewhere.getByText("That doesn't look like an email address").waitFor();
  await confirm('stranger@example.com');
  await elsewhere.getByText("Check that you entered the account's current email").waitFor();
  expect(await elsewhere.locator('main').innerText()).not.toMatch(/before@|after@/);
  await confirm('BEFORE@example.com');
  await elsewhere.getByRole('heading', { name: 'Email changed' }).waitFor();
  expect(await elsewhere.locator('#new-email').innerText()).toBe('after@example.com');
  expect(elsewhere.url()).toBe(`${service.url}/verify-email`);
  await page.reload();
  expect(await page.locator('#profile-email').innerText()).toBe('after@example.com');
  await elsewhere.goto(link);
  await confirm('after@example.com');
  await elsewhere.getByText('the link has been used').waitFor();

  const undo = await linkTo(
    service.url,
    'before@example.com',
    'address of your Latchkey account was changed',
  );
  await elsewhere.goto(undo);
  await elsewhere.getByRole('button', { name: "This wasn't me" }).click();
  await elsewhere.getByRole('heading', { name: 'Thanks for letting us know' }).waitFor();
  expect(await elsewhere.locator('#restored-email').innerText()).toBe('before@example.com');
  await page.reload();
  await page.waitForURL(/\/login/);
});

test('the owner of an email change confirms it with one click, and another signed-in user must enter the current email', async () => {
  const page = await newPage();
  await signIn(page, 'mine@example.com');
  const { access_token: token } = await loginByMail(service.url, 'mine@example.com');
  const ask = (email: string) => request(service.url, 'POST', '/me/email', { token, json: { email } });
  await ask('mine@new.example');
  const link = await linkTo(service.url, 'mine@new.example', 'Confirm your new address');
  const stranger = await newPage();
  await signIn(stranger, 'somebody.else@example.com');
  await stranger.goto(link);
  await stranger.getByLabel('Current email address').fill('somebody.else@example.com');
  await stranger.getByRole('button', { name: 'Change email' }).click();
  await stranger.getByText("Check that you entered the account's current email").waitFor();
  expect(await stranger.locator('main').innerText()).not.toContain('mine@');
  await page.goto(link);
  await page.getByText('will change from mine@example.com to mine@new.example').waitFor();
  expect(await page.getByRole('textbox').count()).toBe(0);
  await page.getByRole('button', { name: 'Change email' }).click();
  await page.getByRole('heading', { name: 'Email changed' }).waitFor();
  expect(await page.locator('#new-email').innerText()).toBe('mine@new.example');
  await ask('mine@third.example');
  const third = await linkTo(service.url, 'mine@third.example', 'Confirm your new address');
  await stranger.goto('about:blank');
  await stranger.goto(third);
  await stranger.getByLabel('Current email address').fill('mine@new.example');
  await stranger.getByRole('button', { name: 'Change email' }).click();
  await stranger.getByRole('heading', { name: 'Email changed' }).waitFor();
  await stranger.goto(`${service.url}/account`);
  expect(await stranger.locator('#profile-email').innerText()).toBe('somebody.else@example.com');
});

test('"This wasn\'t me" signs out a device with one click, without signing in', async () => {
  const own = await loginByMail(service.url, 'owner@example.com');
  const device = await deviceTokens(service.url, own.access_token, { device_name: 'strange laptop' });
  const mail = await mailAbout(service.url, 'owner@example.com', 'A new device signed in');
  expect(mail.text).toContain('"strange laptop"');
  const me = (token: string) => request(service.url, 'GET', '/me', { token });
  const page = await newPage();
  await page.goto(linkIn(mail));
  await page.getByRole('button', { name: "This wasn't me" }).click();
  await page.getByText('The device has been signed out').waitFor();
  expect(await page.locator('#undone').innerText()).toContain('strange laptop');
  expect((await me(device.access_token)).status).toBe(401);
  expect((await me(own.access_token)).status).toBe(200);
});

test('the session that approved a device can be ended too, and after a reload the page refers to the email for that', async () => {
  const email = 'approver@example.com';
  const own = await loginByMail(service.url, email);
  await deviceTokens(service.url, own.access_token, { device_name: 'strange laptop' });
  const link = await linkTo(service.url, email, 'A new device signed in');
  const page = await newPage();
  const me = () => request(service.url, 'GET', '/me', { token: own.access_token });
  await page.goto(link);
  await page.getByRole('button', { name: "This wasn't me" }).click();
  await page.getByRole('heading', { name: 'Who approved the device?' }).waitFor();
  await page.reload();
  await page.getByText('open the link in the email again').waitFor();
  expect(await page.getByRole('button', { name: 'Undo everything since then' }).count()).toBe(0);
  expect((await me()).status).toBe(200);

  await page.goto('about:blank');
  await page.goto(link);
  await page.getByRole('button', { name: "This wasn't me" }).click();
  await page.getByRole('button', { name: 'Undo everything since then' }).click();
  await page.getByText('Everything since the session that approved the device began').waitFor();
  expect((await me()).status).toBe(401);
  expect(await page.locator('#undone').innerText()).toContain('1 browser session ended');
  await page.reload();
  await page.getByRole('heading', { name: 'Thanks for letting us know' }).waitFor();
  expect(await page.locator('#approver').count()).toBe(0);
  await mailAbout(service.url, email, 'What was undone in your Latchkey account');
});

test('an incomplete or forged link is reported as such, and one for signing in names the code that works without it', async () => {
  const page = await newPage();
  for (const path of ['/not-me', '/not-me#token=lk_ml_x', '/verify-email', '/verify-email#token=']) {
    await page.goto('about:blank');
    await page.goto(service.url + path);
    await page.getByRole('heading', { name: 'This link is incomplete' }).waitFor();
  }
  await page.goto(`${service.url}/not-me#token=lk_nm_nobody`);
  await page.getByRole('button', { name: "This wasn't me" }).click();
  await page.getByText('This link has expired or is incomplete').waitFor();
  await page.goto(`${service.url}/magic-link`);
  await page.getByText('You can use the code in the same email instead.').waitFor();
});

const hostile = {
  client_name: 'Latchkey” Approved by Latchkey ✓ Open https://evil.example “ok',
  device_name: `\u202Egpj.exe\u202C \u2066x\u2069 \u200B\u3164 z${'\u0300'.repeat(60)}`,
};
const userAgent = `<script>document.title='owned'</script> ${'Mozilla '.repeat(60)}`;

test('hostile names stay inside their quotes and do not disturb the layout', async () => {
  const page = await newPage({ viewport: { width: 390, height: 844 } });
  await signIn(page, 'target@example.com');
  const start = await request(service.url, 'POST', '/device', {
    json: hostile,
    headers: { 'User-Agent': userAgent },
  });
  await page.goto(start.body.verification_uri_complete);
  await page.getByRole('heading', { name: 'Let this device sign in as you?' }).waitFor();
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
  await isHarmless();
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.getByRole('heading', { name: 'Approved' }).waitFor();
  await request(service.url, 'POST', '/token', { json: { device_code: start.body.device_code } });
  await page.goto(`${service.url}/account`);
  await page.locator('#sessions li').first().waitFor();
  await isHarmless();
});
