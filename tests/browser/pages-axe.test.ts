// Every page state checked for screen readers and by axe-core, in a real browser, in the dark and on a phone too.
// Because that takes a minute, `npm test` opens only the main states, in the light.

import { afterAll, expect, test } from 'bun:test';
import type { Page, ViewportSize } from 'playwright-core';
import { axeIn } from '#support/axe.ts';
import { newPage } from '#support/browser.ts';
import { isLong } from '#support/long.ts';
import { openPageStates } from '#support/page-states.ts';
import { focusIn, screenReaderComplaints } from '#support/tree.ts';

const { service, states } = await openPageStates();

afterAll(async () => {
  await service.stop();
});

/** A page has the same colors at every size, so the dark ones are checked at one. */
const sizes: readonly { viewport: ViewportSize; schemes: readonly Scheme[] }[] = [
  { viewport: { width: 1280, height: 900 }, schemes: isLong ? ['light', 'dark'] : ['light'] },
  { viewport: { width: 390, height: 844 }, schemes: isLong ? ['light'] : [] },
];
type Scheme = 'light' | 'dark';
const smallPhone = { width: 360, height: 740 };

/** One state of each main page. */
const checkedAlways = ['login', 'device-pending', 'authorize-service', 'account-full'];

/** Where the focus is in each state. States without an entry may leave it anywhere, or are those of pages-keyboard.test.ts. */
const focusOf: Record<string, string> = {
  'login-wrong-address': 'textbox "Email address"',
  'login-asked-in-another-tab': 'textbox "Email address"',
  'login-wrong-code': 'textbox "Code from the email"',
  'magic-link-dead': 'heading "This link no longer works"',
  'device-wrong-code': 'textbox "Code from your device"',
  'device-done': 'heading "Approved"',
  'account-confirm': 'heading "Confirm it\'s you"',
  'verify-email-expired': 'textbox "Current email address"',
  'not-me-approver-ended': 'heading "Thanks for letting us know"',
};

/** Warnings and messages without a visible border, which then is all that sets them apart. */
const borderlessMessages = (page: Page): Promise<string[]> =>
  page.locator('.warning, .message:not(:empty)').evaluateAll((all) =>
    all
      .filter((one) => {
        const { borderTopWidth, borderTopColor } = getComputedStyle(one);
        return borderTopWidth === '0px' || borderTopColor === 'rgba(0, 0, 0, 0)';
      })
      .map(({ outerHTML }) => outerHTML),
  );

const shown = Object.entries(states).filter(([name]) => isLong || checkedAlways.includes(name));

test.each(shown)(
  '%s passes axe-core, does not scroll sideways, wide, narrow and with large text, and keeps the borders of messages with forced colors',
  async (name, open) => {
    const page = await newPage();
    const complaints: string[] = [];
    page.on('pageerror', (error) => void complaints.push(String(error)));
    await open(page);
    expect(await screenReaderComplaints(page)).toEqual([]);
    const focus = focusOf[name];
    if (focus !== undefined) expect(await focusIn(page)).toBe(focus);
    const violationsIn = await axeIn(page);
    for (const { viewport, schemes } of sizes) {
      await page.setViewportSize(viewport);
      const overflow = await page.locator('html').evaluate((root) => root.scrollWidth - root.clientWidth);
      expect([viewport.width, overflow]).toEqual([viewport.width, 0]);
      for (const colorScheme of schemes) {
        await page.emulateMedia({ colorScheme });
        const seen = [viewport.width, colorScheme];
        // The rest of the page is what it was in the light.
        const rules = colorScheme === 'dark' ? ['color-contrast'] : [];
        expect([...seen, await violationsIn(...rules)]).toEqual([...seen, []]);
      }
    }
    await page.emulateMedia({ forcedColors: 'active' });
    expect(await borderlessMessages(page)).toEqual([]);
    // The mailbox is a page for developers.
    if (isLong && name !== 'dev-mailbox') {
      await page.setViewportSize(smallPhone);
      const width = await page.locator('html').evaluate((root) => {
        root.style.fontSize = '200%';
        return root.scrollWidth;
      });
      expect(['text twice as large', width]).toEqual(['text twice as large', smallPhone.width]);
    }
    expect(complaints).toEqual([]);
  },
);
