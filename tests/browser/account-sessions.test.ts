// The sessions and runs on the account page, in a real browser against the real service.

import { expect, test } from 'bun:test';
import type { Route } from 'playwright-core';
import { goOffline, newPage } from '#support/browser.ts';
import { service } from '#support/common-service.ts';
import { alerted, alter, confirmed, giveSession, pressed, signIn, startRun } from '#support/people.ts';

const statusOf = async (token: string) => (await service.ask('GET', '/me', { token })).status;

test('ten sessions are shown with the current one first, all of them on request; ending the others ends those not shown, too, and those that began since', async () => {
  const email = 'many@example.com';
  const { access_token } = await service.login(email);
  for (let index = 0; index < 12; index++)
    await service.deviceLogin({ access_token }, { device_name: `terminal ${index}`, scope: '* openid' });
  const page = await newPage();
  await signIn(page, service.url, email);
  const rows = page.locator('#sessions > li');
  expect(await rows.count()).toBe(10);
  expect(await rows.getByText('*', { exact: true }).or(rows.getByText('everything')).count()).toBe(0);
  const mine = rows.first();
  await mine.getByText('This session').waitFor();
  await mine.locator('.title').getByText('Chrome on Linux').waitFor();
  await mine.locator('summary').click();
  await mine.getByText('Mozilla/5.0').waitFor();
  await pressed(page, 'Show all sessions (14)');
  expect(await rows.count()).toBe(14);
  await rows.nth(10).locator('button:focus').waitFor();
  const later = await service.login(email);
  await confirmed(page, 'End other sessions');
  await page.getByText('All other sessions ended.').waitFor();
  await page.locator('h2:focus').getByText('Sessions').waitFor();
  expect(await rows.count()).toBe(1);
  expect(await page.getByRole('button', { name: 'End other sessions' }).count()).toBe(0);
  expect(await Promise.all([access_token, later.access_token].map(statusOf))).toEqual([401, 401]);
});

test('an error is shown where a session is ended; the activity names the session, not the browser that ended it; ending one that is over shows what else is', async () => {
  const email = 'ender@example.com';
  const userAgent = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
  await giveSession(await newPage({ userAgent }), service.url, email);
  const page = await newPage();
  await signIn(page, service.url, email);
  const question = page.locator('#sessions .question');
  await goOffline(page);
  await confirmed(page.locator('#sessions'), 'End session');
  await question.getByRole('alert').getByText("Couldn't reach Latchkey").waitFor();
  await pressed(page, 'Cancel');
  await page.context().setOffline(false);
  await confirmed(page.locator('#sessions'), 'End session');
  const event = page.locator('#events > li', { hasText: 'Session ended from another session' });
  await event.getByText('Ended session: Firefox on Linux').waitFor();
  await page.locator('h2:focus').getByText('Sessions').waitFor();

  // Two others, which end elsewhere while the page shows them.
  const others = [await service.login(email), await service.login(email)];
  await page.reload();
  const rows = page.locator('#sessions > li');
  await rows.nth(2).waitFor();
  for (const { access_token: token } of others)
    await service.ask('DELETE', '/logout?scope=session', { token });
  await confirmed(page.locator('#sessions'), 'End session');
  await page.locator('#events > li', { hasText: 'Signed out' }).nth(1).waitFor();
  await rows.nth(1).waitFor({ state: 'detached' });
  expect(await rows.count()).toBe(1);
});

test('runs are shown below their login with what they may do, and one or all of a login can be stopped', async () => {
  const email = 'runs@example.com';
  const { access_token } = await service.deviceLogin(await service.login(email), { device_name: 'workshop' });
  const runs: string[] = [];
  const authorization_details = '[{"type":"<b>ticket</b>","id":4711}]';
  for (const [scope, more] of [['profile', { authorization_details }], ['email'], ['organizations']] as const)
    runs.push(await startRun(service.url, access_token, scope, more));
  const page = await newPage();
  await signIn(page, service.url, email);
  const login = page.locator('#sessions > li').filter({ hasText: 'workshop' });
  const items = login.getByRole('listitem');
  const summary = page.locator('#runs-summary');
  expect(await page.locator('#sessions > li').count()).toBe(3);
  expect([await items.count(), await summary.innerText()]).toEqual([3, '3 runs act as you.']);
  // As if there were more runs than are listed. The cursor is one of the service, for nothing.
  await alter(page, 'sessions?*kind=run*', { next_cursor: btoa('1:ses_') });
  await page.reload();
  await summary.getByText('More than 3 runs act as you. Only the newest are shown.').waitFor();
  await page.unrouteAll();
  await page.reload();
  await items.getByText('Limited to these details').click();
  await items.getByText(authorization_details, { exact: true }).waitFor();
  await confirmed(items.filter({ hasText: 'See your email address' }), 'Stop');
  await page.getByText('Run stopped.').waitFor();
  expect([await items.count(), await summary.innerText()]).toEqual([2, '2 runs act as you.']);
  expect(await Promise.all(runs.map(statusOf))).toEqual([200, 401, 403]);
  // One begins after the page was loaded, and another while they are ended.
  runs.push(await startRun(service.url, access_token, 'email'));
  const startAnother = async (route: Route) => {
    runs.push(await startRun(service.url, access_token, 'profile'));
    await route.continue();
  };
  await page.route('**/auth/sessions/*', startAnother, { times: 1 });
  await confirmed(login, 'Stop all runs');
  await alerted(page, 'Others are still active: they began in the meantime');
  expect(await Promise.all(runs.map(statusOf))).toEqual([401, 401, 401, 401, 200]);
  await pressed(page, 'Stop all runs');
  await page.getByText('All runs stopped.').waitFor();
  expect([await items.count(), await summary.count()]).toEqual([0, 0]);
  expect(await Promise.all(runs.map(statusOf))).toEqual(runs.map(() => 401));
  expect(await statusOf(access_token)).toBe(200);
});
