// What a passkey of the account has to confirm, before and after the browser got none.

import type { Page } from 'playwright-core';
import { commandLineRequest } from '../authorize.ts';
import { addPasskeyAt } from '../passkeys.ts';
import { giveSession, pressed, startDevice } from '../people.ts';
import { authorizePath } from '../program.ts';
import type { PageStates } from './page-state.ts';

interface Act {
  readonly name: string;
  readonly address: () => Promise<string>;
  /** Fills in what is needed. */
  readonly prepare?: (page: Page) => Promise<void>;
  readonly button: string;
}

export const touchStates = (url: string): PageStates => {
  const acts: Act[] = [
    {
      name: 'device-touch',
      address: async () => {
        const names = { client_name: 'latchkey', device_name: 'workshop' };
        return (await startDevice(url, names)).verification_uri_complete;
      },
      button: 'Approve with your passkey',
    },
    {
      name: 'authorize-touch',
      address: async () => url + authorizePath(commandLineRequest()),
      button: 'Approve with your passkey',
    },
    {
      name: 'account-key-touch',
      address: async () => `${url}/account`,
      prepare: async (page) => {
        await pressed(page, 'Create API key');
        await page.getByLabel('Name', { exact: true }).fill('night build');
        await page.getByLabel('Do everything you can do').check();
      },
      button: 'Create API key with your passkey',
    },
  ];
  return Object.fromEntries(
    acts.flatMap(({ name, address, prepare, button }) => {
      const open = async (page: Page) => {
        await addPasskeyAt(url, `${name}@example.com`);
        await giveSession(page, url, `${name}@example.com`);
        await page.addInitScript(() => {
          navigator.credentials.get = () => Promise.reject(new DOMException('', 'NotAllowedError'));
        });
        await page.goto(await address());
        await prepare?.(page);
        await page.locator('button:not([aria-disabled=true])', { hasText: button }).waitFor();
      };
      const refuse = async (page: Page) => {
        await open(page);
        await pressed(page, button);
        await page.getByText('no passkey confirmed it').waitFor();
      };
      return [
        [name, open],
        [`${name}-not-given`, refuse],
      ];
    }),
  );
};
