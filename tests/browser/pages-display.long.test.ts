// Pages with the display settings of a browser: forced colors. Large text: pages-axe.test.ts.

import { expect, test } from 'bun:test';
import { newPage } from '#support/browser.ts';
import { service } from '#support/page-service.ts';
import { signedIn, startDevice } from '#support/people.ts';

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
