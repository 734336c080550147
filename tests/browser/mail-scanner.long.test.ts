// What mail scanners do to the links in emails: they fetch them, open them in a browser of their own, run scripts, press the
// first button, press Enter, and follow the links on the page. All notices have the same link and the same page.

import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { subjects } from '#support/account.ts';
import type { Ask } from '#support/ask.ts';
import { newPage, untilIdle, untilLoaded } from '#support/browser.ts';
import { service } from '#support/common-service.ts';
import { changesBy, linkTo } from '#support/people.ts';

const owner = 'owner@example.com';

const call = async (method: string, path: string, ask: Ask = {}) => {
  const { status, body } = await service.ask(method, path, ask);
  if (status >= 400) throw new Error(`${method} ${path}: ${status} ${body.error}`);
  return body;
};

const tokenOf = (link: string) => link.slice(link.indexOf('=') + 1);
const use = (path: string, link: string, proof: object = {}) =>
  call('POST', path, { json: { token: tokenOf(link), ...proof } });

/** Makes the service send an email of each kind, with an unused link. */
async function causeMails(): Promise<{ links: Record<string, string>; token: string; deviceToken: string }> {
  const { access_token: mover } = await service.login('mover@example.com');
  const changeTo = async (email: string, token: string) => {
    await call('POST', '/me/email', { token, json: { email } });
    return linkTo(service.url, email, subjects.confirmAddress);
  };
  await use('/me/email/verify', await changeTo('mover@new.example', mover), {
    current_email: 'mover@example.com',
  });
  const own = await service.login(owner);
  const { access_token: token } = own;
  const { access_token: deviceToken } = await service.deviceLogin(own);
  const confirmation = await changeTo('owner@new.example', token);
  const device = await linkTo(service.url, owner, subjects.newDevice);
  await call('POST', '/magic_link', { json: { email: 'newcomer@example.com' } });
  const links = {
    signIn: await linkTo(service.url, 'newcomer@example.com', 'Sign in to Latchkey'),
    confirmation,
    device,
    changed: await linkTo(service.url, 'mover@example.com', subjects.emailChanged),
  };
  return { links, token, deviceToken };
}

const maxPresses = 3;

async function pressAround(page: Page): Promise<void> {
  await untilLoaded(page);
  const active = page.getByRole('button', { disabled: false });
  for (let presses = 0; presses < maxPresses && (await active.count()) > 0; presses++)
    await active.first().click();
  const field = page.getByRole('textbox').first();
  if (await field.isVisible()) await field.focus();
  await page.keyboard.press('Enter');
}

/** Scans a link; returns the requests that could change something, and the cookies received. */
async function scan(link: string): Promise<string[]> {
  for (const method of ['GET', 'HEAD']) await fetch(link, { method });
  const page = await newPage();
  const changes = changesBy(page.context());
  const open = async () => {
    await page.goto('about:blank');
    await page.goto(link);
    await untilLoaded(page);
  };
  await open();
  const links = await page.getByRole('link').count();
  await pressAround(page);
  for (let index = 0; index < links; index++) {
    await open();
    await page.getByRole('link').nth(index).click();
    await pressAround(page);
  }
  await untilIdle(page);
  const cookies = (await page.context().cookies()).map(({ name }) => `cookie ${name}`);
  await page.context().close();
  return [...changes, ...cookies];
}

test('a mail scanner that opens emailed links signs no one in, changes nothing and spends no link', async () => {
  const { links, token, deviceToken } = await causeMails();
  const look = async () => {
    const paths = ['/me', '/sessions', '/passkeys', '/events'];
    const seen = await Promise.all(paths.map((path) => call('GET', path, { token })));
    return JSON.stringify(seen).replaceAll(/"last_used_at":"[^"]+"/g, '');
  };
  const before = await look();
  for (const link of Object.values(links)) expect([link, ...(await scan(link))]).toEqual([link]);
  expect(await look()).toBe(before);

  // Every link still works afterwards.
  expect((await use('/magic_link/verify', links['signIn']!)).token_type).toBe('Bearer');
  const proof = { current_email: owner };
  expect((await use('/me/email/verify', links['confirmation']!, proof)).email).toBe('owner@new.example');
  expect((await use('/notices/disown', links['device']!)).kind).toBe('new_device');
  expect((await service.ask('GET', '/me', { token: deviceToken })).status).toBe(401);
  expect((await use('/notices/disown', links['changed']!)).email).toBe('mover@example.com');
});
