// Pages with the name, the links and the logo of a product.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pngLogo } from '../logos.ts';
import { headed } from '../people.ts';
import { startService, type TestService, temporaryDirectory } from '../service.ts';
import type { PageStates } from './page-state.ts';

/** A service with a name of the maximum length, links and a wide logo. */
export function startBranded(): Promise<TestService> {
  const logo = join(temporaryDirectory(), 'logo.png');
  writeFileSync(logo, pngLogo(400, 50));
  return startService({
    env: {
      LATCHKEY_PRODUCT_NAME: 'Sitzungen für die Softwareentwicklung KG',
      LATCHKEY_SUPPORT_URL: 'https://acme.example/help',
      LATCHKEY_TERMS_URL: 'https://acme.example/terms',
      LATCHKEY_PRIVACY_URL: 'https://acme.example/privacy',
      LATCHKEY_LOGO: logo,
    },
  });
}

export const brandedStates = (url: string): PageStates => ({
  'branded-login': async (page) => {
    await page.goto(`${url}/login`);
    await headed(page, 'Sign in');
  },
  'branded-not-found': async (page) => {
    await page.goto(`${url}/nowhere`);
    await headed(page, 'Page not found');
  },
});
