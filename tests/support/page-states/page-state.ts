import { fieldLimits } from '@latchkey/contract/field-limits';
import type { Page } from 'playwright-core';

/** By name, which is usable as a file name: what brings a page of a new browser into this state. */
export type PageStates = Readonly<Record<string, (page: Page) => Promise<unknown>>>;

export const longName = `Rechnerraum-Süd-${'überlang'.repeat(10)}`.slice(0, fieldLimits.clientText);
export const rightToLeft = 'חדר השרתים הראשי — الخادم الرئيسي في الطابق الثاني';
