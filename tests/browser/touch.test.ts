// What hands out tokens takes the touch of a passkey, in a real browser with a virtual authenticator.

import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { newPasskey } from '#support/account.ts';
import { newPage } from '#support/browser.ts';
import { service } from '#support/common-service.ts';
import { addAuthenticator, giveSession, newAddress, phone } from '#support/people.ts';
import { startProgram } from '#support/program.ts';
import { shared } from '#support/shared.ts';
import { touchActs } from '#support/touch-acts.ts';
import { until } from '#support/until.ts';

const program = shared(async () => startProgram());

/** A signed-in browser with an authenticator, which has the passkey of the account or of another one. */
async function person(options: object = {}, holdsOwn = true) {
  const email = newAddress();
  const { access_token: token } = await service.login(email);
  const own = await newPasskey(service, { access_token: token });
  const page = await newPage(options);
  const authenticator = await addAuthenticator(page);
  await authenticator.take(holdsOwn ? own : await newPasskey(service, await service.login(newAddress())));
  await giveSession(page, service.url, email);
  return { page, token, ...authenticator };
}

const acts = touchActs(service, program);

const ready = (page: Page, name: string) =>
  page.locator('button:not([aria-disabled=true])', { hasText: name });

for (const [name, prepare] of Object.entries(acts)) {
  test(`${name} is approved by a touch, with the keyboard and a pointer, in both sizes`, async () => {
    for (const [options, usesKeyboard] of [
      [{}, true],
      [{}, false],
      [phone, true],
      [phone, false],
    ] as const) {
      const act = await prepare();
      const { page, token } = await person(options);
      await act.open(page);
      const button = ready(page, act.button);
      if (usesKeyboard) {
        await button.focus();
        await page.keyboard.press('Enter');
      } else if (options === phone) await button.tap();
      else await button.click();
      await act.done(page);
      expect(await act.isDone(token)).toBe(true);
      await page.context().close();
    }
  });

  test(`${name} is not approved without the touch, by the passkey of another account or when nobody touches it in time; the page says what to do, and it can be tried again in place`, async () => {
    const act = await prepare();
    for (const missing of ['time', 'passkey', 'touch']) {
      const { page, token, answers, verifies } = await person({}, missing !== 'passkey');
      await answers(missing !== 'time');
      await verifies(missing !== 'touch');
      if (missing !== 'touch')
        await page.route(/\/(verify|challenge)$/, async (route) => {
          const response = await route.fetch();
          const json = await response.json();
          await route.fulfill({ response, json: { ...json, passkey: { ...json.passkey, timeout: 100 } } });
        });
      await act.open(page);
      await ready(page, act.button).click();
      await page.getByText("If your passkey isn't at hand, use another browser").waitFor();
      expect(await act.isDone(token)).toBe(false);
      if (missing !== 'touch') continue;
      await verifies(true);
      await ready(page, act.button).click();
      await act.done(page);
    }
  });

  test(`${name} is not approved by a script that presses every button`, async () => {
    const act = await prepare();
    const { page, token, answers } = await person({}, false);
    await act.open(page);
    await ready(page, act.button).waitFor();
    await answers(false);
    const statuses: number[] = [];
    page.on('response', (response) => {
      if (/\/(approve|keys)$/.test(response.url()) && response.request().method() === 'POST')
        statuses.push(response.status());
    });
    let pressed = 0;
    await until(async () => {
      pressed += await page.evaluate((selector) => {
        const buttons = [...document.querySelectorAll<HTMLButtonElement>(selector)];
        const pressing = buttons.filter((one) => !/Deny|Cancel/.test(one.textContent));
        for (const one of pressing) one.click();
        return pressing.length;
      }, act.buttons);
      return pressed > 20;
    }, 'twenty presses');
    expect(statuses.filter((status) => status < 300)).toEqual([]);
    expect(await act.isDone(token)).toBe(false);
  });
}
