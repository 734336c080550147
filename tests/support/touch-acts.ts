// What hands out tokens and takes the touch of a passkey.

import type { Page } from 'playwright-core';
import { commandLineRequest } from './authorize.ts';
import { untilLoaded } from './browser.ts';
import { pollDevice, startDevice } from './devices.ts';
import type { Service } from './driver.ts';
import { headed } from './people.ts';
import { authorizePath, type TestProgram } from './program.ts';

/** What a touch is for: opened on its page, with the button that asks for it. */
interface Act {
  open(page: Page): Promise<void>;
  readonly button: string;
  /** The buttons that decide. On the account page a script with a recent sign-in can remove the passkey, too, which tells its owner. */
  readonly buttons: string;
  /** Resolves once the page says that it was done. */
  done(page: Page): Promise<unknown>;
  /** Whether anything was handed out. */
  isDone(token: string): Promise<boolean>;
}

/** By what is approved, what begins each. */
export const touchActs = (
  service: Service,
  program: Pick<TestProgram, 'redirectUri' | 'received'>,
): Record<string, () => Promise<Act>> => ({
  'a device': async () => {
    const device = await startDevice(service, { client_name: 'latchkey', device_name: 'workshop' });
    return {
      open: async (page) => void (await page.goto(device.verification_uri_complete)),
      button: 'Approve with your passkey',
      buttons: 'main button',
      done: (page) => headed(page, 'Approved'),
      isDone: async () => (await pollDevice(service, device)).status === 200,
    };
  },
  'an application': async () => {
    const sent = commandLineRequest({ redirect_uri: program.redirectUri });
    const before = program.received.length;
    return {
      open: async (page) => void (await page.goto(`${service.url}${authorizePath(sent)}`)),
      button: 'Approve with your passkey',
      buttons: 'main button',
      done: (page) => headed(page, 'You can close this tab'),
      isDone: async () => program.received.length > before,
    };
  },
  'a key': async () => ({
    open: async (page) => {
      await page.goto(`${service.url}/account?new-key=1&name=build&scope=profile&expires=86400`);
      await untilLoaded(page);
    },
    button: 'Create API key with your passkey',
    buttons: '[aria-labelledby=new-key-heading] button',
    done: (page) => page.getByLabel('Your new API key').waitFor(),
    isDone: async (token) => (await service.ask('GET', '/keys', { token })).body.keys.length > 0,
  }),
});
