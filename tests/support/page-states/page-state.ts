import { fieldLimits } from '@latchkey/contract/field-limits';
import type { Page } from 'playwright-core';

export interface PageState {
  /** Usable as a file name. */
  readonly name: string;
  /** Brings a page of a new browser into this state. */
  readonly open: (page: Page) => Promise<void>;
}

export const longName = `Rechnerraum-Süd-${'überlang'.repeat(10)}`.slice(0, fieldLimits.clientText);
export const rightToLeft = 'חדר השרתים הראשי — الخادم الرئيسي في الطابق الثاني';
