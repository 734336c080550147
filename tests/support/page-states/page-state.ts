import { fieldLimits } from '@latchkey/contract/field-limits';
import type { Page } from 'playwright-core';
import { headed } from '../people.ts';

/** By name, which is usable as a file name: what brings a page of a new browser into this state. */
export type PageStates = Readonly<Record<string, (page: Page) => Promise<unknown>>>;

export const longName = `Rechnerraum-Süd-${'überlang'.repeat(10)}`.slice(0, fieldLimits.clientText);
export const rightToLeft = 'חדר השרתים הראשי — الخادم الرئيسي في الطابق الثاني';

/** Opens the page at an address, and waits for its heading. */
export const opens =
  (address: string, heading: string) =>
  async (page: Page): Promise<void> => {
    await page.goto(address);
    await headed(page, heading);
  };
