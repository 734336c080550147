// The session list of a user with many sessions, in a real browser against the real service.

import { expect, test } from 'bun:test';
import { newPage } from '../support/browser.ts';
import { deviceTokens, loginByMail, request } from '../support/http.ts';
import { service } from '../support/page-service.ts';
import { confirmed, giveSession, pressed, signIn } from '../support/people.ts';

test('the account page shows ten sessions with the current one first, all of them on request, and ends those not shown too, and those that began since', async () => {
  const email = 'many@example.com';
  const { access_token } = await loginByMail(service.url, email);
  const page = await newPage();
  await signIn(page, service.url, email);
  for (let index = 0; index < 12; index++)
    await deviceTokens(service.url, access_token, { device_name: `terminal ${index}` });
  await page.reload();
  const rows = page.locator('#sessions > li');
  await page.getByRole('button', { name: 'Show all sessions (14)' }).waitFor();
  expect(await rows.count()).toBe(10);
  const mine = rows.first();
  await mine.getByText('This session').waitFor();
  await mine.locator('.title').getByText('Chrome on Linux').waitFor();
  await mine.locator('summary').click();
  await mine.getByText('Mozilla/5.0').waitFor();
  await page.getByRole('button', { name: 'Show all sessions (14)' }).click();
  expect(await rows.count()).toBe(14);
  expect(await rows.nth(10).locator('button:focus').count()).toBe(1);
  await page.reload();
  await page.getByRole('button', { name: 'End other sessions' }).waitFor();
  const later = await loginByMail(service.url, email);
  await confirmed(page, 'End other sessions');
  await page.getByText('All other sessions ended.').waitFor();
  expect(await rows.count()).toBe(1);
  expect(await page.getByRole('button', { name: 'End other sessions' }).count()).toBe(0);
  for (const token of [access_token, later.access_token])
    expect((await request(service.url, 'GET', '/me', { token })).status).toBe(401);
  await page.reload();
  await rows.getByText('This session').waitFor();
});

test('an error is shown where a session is ended; the activity names the session, not the browser that ended it; ending one that is over shows what else is', async () => {
  const email = 'ender@example.com';
  const userAgent = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
  await giveSession(await newPage({ userAgent }), service.url, email);
  const page = await newPage();
  await signIn(page, service.url, email);
  const question = page.locator('#sessions .question');
  await page.context().setOffline(true);
  await confirmed(page.locator('#sessions'), 'End session');
  await question.getByRole('alert').getByText("Couldn't reach Latchkey").waitFor();
  await pressed(page, 'Cancel');
  await page.context().setOffline(false);
  await confirmed(page.locator('#sessions'), 'End session');
  const event = page.locator('#events > li', { hasText: 'Session ended from another session' });
  await event.getByText('Ended session: Firefox on Linux').waitFor();

  // Two others, which end elsewhere while the page shows them.
  const others = [await loginByMail(service.url, email), await loginByMail(service.url, email)];
  await page.reload();
  const rows = page.locator('#sessions > li');
  await rows.nth(2).waitFor();
  for (const { access_token: token } of others)
    await request(service.url, 'DELETE', '/logout?scope=session', { token });
  await confirmed(page.locator('#sessions'), 'End session');
  await page.locator('#events > li', { hasText: 'Signed out' }).nth(1).waitFor();
  await rows.nth(1).waitFor({ state: 'detached' });
  expect(await rows.count()).toBe(1);
});
