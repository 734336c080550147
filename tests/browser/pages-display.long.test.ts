// Pages with the display settings of a browser: forced colors and large text.

import { expect, test } from 'bun:test';
import { newPage } from '../support/browser.ts';
import { service } from '../support/page-service.ts';
import { signedIn, startDevice } from '../support/people.ts';

test('with forced colors, warnings and messages keep a visible border', async () => {
  const page = await newPage({ forcedColors: 'active' });
  await signedIn(page, service.url, 'contrast@example.com');
  const device = await startDevice(service.url);
  await page.goto(device.verification_uri_complete);
  const edgeOf = (selector: string) =>
    page.locator(selector).evaluate((element) => getComputedStyle(element).borderTopColor);
  await page.getByRole('button', { name: 'Approve' }).waitFor();
  expect(await edgeOf('.warning')).not.toBe('rgba(0, 0, 0, 0)');
  await page.goto(`${service.url}/device?user_code=nonsense`);
  await page.getByRole('alert').getByText("That isn't a valid code").waitFor();
  expect(await edgeOf('#user_code-error')).not.toBe('rgba(0, 0, 0, 0)');
});

test('on a phone with doubled text size nothing scrolls sideways', async () => {
  const page = await newPage({ viewport: { width: 360, height: 740 } });
  await signedIn(page, service.url, 'large@example.com');
  const device = await startDevice(service.url);
  const addresses = [device.verification_uri_complete, '/login', '/account', '/not-me#token=lk_nm_some'];
  for (const address of addresses) {
    await page.goto(new URL(address, service.url).href);
    await page.locator('main button').last().waitFor();
    const width = await page.evaluate(() => {
      document.documentElement.style.fontSize = '200%';
      return document.documentElement.scrollWidth;
    });
    expect([address, width]).toEqual([address, 360]);
  }
});
