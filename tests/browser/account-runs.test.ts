// Runs on the account page: below the login that they are within, with what they may do.

import { expect, test } from 'bun:test';
import { newPage } from '../support/browser.ts';
import { deviceTokens, request } from '../support/http.ts';
import { service } from '../support/page-service.ts';
import { confirmed, signedIn, startRun } from '../support/people.ts';

test('runs are shown below their login, and one or all of a login can be stopped', async () => {
  const page = await newPage();
  const token = await signedIn(page, service.url, 'runs@example.com');
  const { access_token } = await deviceTokens(service.url, token, { device_name: 'workshop' });
  const runs: string[] = [];
  for (const scope of ['profile', 'email', 'organizations'])
    runs.push(await startRun(service.url, access_token, scope));
  const statuses = () =>
    Promise.all(
      runs.map(async (run) => (await request(service.url, 'GET', '/me', { token: run })).status === 401),
    );

  await page.goto(`${service.url}/account#sessions`);
  const login = page.locator('#sessions > li').filter({ hasText: 'workshop' });
  const items = login.getByRole('listitem');
  await items.nth(2).waitFor();
  await items.getByText('See your email address').waitFor();
  expect(await page.locator('#sessions > li').count()).toBe(3);
  const summary = page.locator('#runs-summary');
  expect(await summary.innerText()).toBe('3 runs act as you.');

  await confirmed(items.filter({ hasText: 'See your email address' }), 'Stop');
  await page.getByText('Run stopped.').waitFor();
  expect(await items.count()).toBe(2);
  expect(await statuses()).toEqual([false, true, false]);
  expect(await summary.innerText()).toBe('2 runs act as you.');
  await confirmed(login, 'Stop all runs');
  await page.getByText('All runs stopped.').waitFor();
  expect(await items.count()).toBe(0);
  expect(await summary.count()).toBe(0);
  expect(await statuses()).toEqual([true, true, true]);
  expect((await request(service.url, 'GET', '/me', { token: access_token })).status).toBe(200);
});
