// Pages while the browser translates them. Chromium's translation replaces each text node by elements of its own, which a page does
// not know, and does so again whenever a text appears.

import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { newPage } from '#support/browser.ts';
import { service } from '#support/common-service.ts';
import { startDevice } from '#support/devices.ts';
import { newAddress, signIn } from '#support/people.ts';

async function translatedPage(): Promise<Page> {
  const page = await newPage();
  await page.addInitScript(() => {
    const isText = (node: Node): node is Text =>
      node.nodeType === Node.TEXT_NODE && /\S/.test(node.nodeValue ?? '');
    const translate = (node: Node): undefined => {
      const element = node instanceof Element ? node : node.parentElement;
      if (element?.closest('[translate=no], script, font')) return;
      if (!isText(node)) {
        for (const child of [...node.childNodes]) translate(child);
        return;
      }
      const outer = document.createElement('font');
      outer.append(document.createElement('font'));
      outer.firstElementChild!.textContent = `${node.data} (translated)`;
      node.replaceWith(outer);
    };
    new MutationObserver((changes) => {
      for (const { addedNodes, target } of changes) [...addedNodes, target].forEach(translate);
    }).observe(document, { childList: true, characterData: true, subtree: true });
  });
  return page;
}

test('the device page moves on, and leaves nothing of what it showed before', async () => {
  const page = await translatedPage();
  await signIn(page, service.url, newAddress());
  const { device_code, user_code } = await startDevice(service);
  await page.goto(`${service.url}/device`);
  await page.getByLabel('Code from your device').fill('BCDF-GHJK');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('alert').getByText('No device is waiting').waitFor();
  await page.getByLabel('Code from your device').fill(user_code);
  await page.getByRole('button', { name: 'Continue' }).click();
  expect(await page.locator('#shown-code').innerText()).toBe(user_code);
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.getByText('Waiting for your device').waitFor();
  const json = { device_code };
  expect((await service.ask('POST', '/token', { json })).status).toBe(200);
  await page.getByText('Your device is signed in').waitFor();
  expect(await page.locator('main').innerText()).not.toMatch(/Waiting|Continue|Approve |Deny|No device/);
});

test('a countdown goes on, codes stay as they are, and a new message replaces the last one', async () => {
  const page = await translatedPage();
  await page.goto(`${service.url}/login`);
  await page.getByLabel('Email address').fill(newAddress());
  await page.getByRole('button', { name: 'Email me a link' }).click();
  const countdown = page.locator('.countdown');
  const before = await countdown.innerText();
  expect(before).toMatch(/^\d+ min( \d+ sec)?$/);
  await page.waitForFunction((shown) => document.querySelector('.countdown')?.textContent !== shown, before);
  await page.getByLabel('Code from the email').fill('1');
  await page.getByRole('button', { name: 'Sign in' }).click();
  const message = page.locator('#code-error');
  await message.getByText('code').waitFor();
  const first = await message.innerText();
  await page.getByLabel('Code from the email').fill('');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForFunction((shown) => document.querySelector('#code-error')?.textContent !== shown, first);
  expect(await message.innerText()).not.toContain(first);
});
