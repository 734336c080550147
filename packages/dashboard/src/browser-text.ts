import { browserName } from '@latchkey/contract/browser-name';
import { texts } from './texts.ts';

/** The browser and system of a user agent, such as `Firefox on Linux`; undefined if it is not a known browser. */
export const browserText = (userAgent: string): string | undefined =>
  browserName(userAgent, texts.common.browserOn);
