// Pages with the name, the links and the logo of a product.

import { logoFile, pngLogo } from '../logos.ts';
import { startService, type TestService } from '../service.ts';
import { opens, type PageStates } from './page-state.ts';

/** A service with a name of the maximum length, links and a wide logo. */
export function startBranded(): Promise<TestService> {
  return startService({
    env: {
      LATCHKEY_PRODUCT_NAME: 'Sitzungen für die Softwareentwicklung KG',
      LATCHKEY_SUPPORT_URL: 'https://acme.example/help',
      LATCHKEY_LEGAL_URL: 'https://acme.example/legal',
      LATCHKEY_LOGO: logoFile('logo.png', pngLogo(400, 50)),
    },
  });
}

export const brandedStates = (url: string): PageStates => ({
  'branded-login': opens(`${url}/login`, 'Sign in'),
  'branded-not-found': opens(`${url}/nowhere`, 'Page not found'),
});
