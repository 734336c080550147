// What a passkey of the account has to confirm, before and after the browser got none.

import type { Page } from 'playwright-core';
import { newPasskey } from '../account.ts';
import type { Driver } from '../driver.ts';
import { giveSession, newAddress, pressed } from '../people.ts';
import type { TestProgram } from '../program.ts';
import { touchActs } from '../touch-acts.ts';
import type { PageStates } from './page-state.ts';

export const touchStates = (service: Driver, program: TestProgram): PageStates =>
  Object.fromEntries(
    Object.entries(touchActs(service, program)).flatMap(([name, prepare]) => {
      const open = async (page: Page): Promise<string> => {
        const act = await prepare();
        const email = newAddress();
        await newPasskey(service, await service.login(email));
        await giveSession(page, service.url, email);
        await page.addInitScript(() => {
          navigator.credentials.get = () => Promise.reject(new DOMException('', 'NotAllowedError'));
        });
        await act.open(page);
        await page.locator('button:not([aria-disabled=true])', { hasText: act.button }).waitFor();
        return act.button;
      };
      const refuse = async (page: Page) => {
        await pressed(page, await open(page));
        await page.getByText('no passkey confirmed it').waitFor();
      };
      const state = `touch-${name.replace(/^an? /, '')}`;
      return [
        [state, open],
        [`${state}-not-given`, refuse],
      ];
    }),
  );
