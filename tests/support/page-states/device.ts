// The device page.

import { fieldLimits } from '@latchkey/contract/field-limits';
import type { Page } from 'playwright-core';
import { pollDevice, startDevice } from '../devices.ts';
import type { Service } from '../driver.ts';
import { alter, giveSession, headed, pressed } from '../people.ts';
import { longName, type PageStates, rightToLeft } from './page-state.ts';

const longUri = `https://tickets.example/${'resource/'.repeat(20)}`;

/** As many as one request can have. */
const manyScopes = Array.from({ length: fieldLimits.scopes }, (_, index) => ({
  name: `things:do-${index}`,
  description:
    index % 4 === 0
      ? `${rightToLeft} ${index}`
      : `Do thing ${index} in each of your ${'very '.repeat(index)}long projects`,
  service: index % 3 === 0 ? longName : 'Tickets',
}));

export const deviceStates = (service: Service): PageStates => {
  const { url } = service;
  const openPending = async (page: Page, names: object) => {
    const device = await startDevice(service, names);
    await giveSession(page, url, 'device@example.com');
    await page.goto(device.verification_uri_complete);
    await headed(page, 'Let this device sign in as you?');
    return device;
  };
  const plain = { client_name: 'latchkey', device_name: 'workshop' };
  const openWaiting = async (page: Page) => {
    const device = await openPending(page, plain);
    await pressed(page, 'Approve');
    await page.getByText('Waiting for your device').waitFor();
    return device;
  };
  return {
    'device-empty': async (page) => {
      await giveSession(page, url, 'device@example.com');
      await page.goto(`${url}/device`);
      await headed(page, 'Device sign-in');
    },
    'device-wrong-code': async (page) => {
      await giveSession(page, url, 'device@example.com');
      await page.goto(`${url}/device?user_code=BBBB-BBBB`);
      await page.getByText('No device is waiting with this code').waitFor();
    },
    'device-pending': (page) => openPending(page, plain),
    'device-pending-other-network': async (page) => {
      await alter(page, 'device/verify', { same_network: false, ip_address: '203.0.113.7' });
      await openPending(page, plain);
      await page.getByText('Different from yours').waitFor();
    },
    'device-pending-long-names': (page) =>
      openPending(page, { client_name: rightToLeft, device_name: longName }),
    'device-pending-many-scopes': async (page) => {
      const members = { scopes: manyScopes, resource: longUri, resource_service: longName };
      await alter(page, 'device/verify', members);
      await openPending(page, plain);
      await page.getByText('Do thing 19').waitFor();
    },
    'device-waiting': openWaiting,
    'device-confirmation': async (page) => {
      await alter(page, 'device/approve', { confirmation_code: '047159' });
      await openPending(page, plain);
      await pressed(page, 'Approve');
      await page.getByText('Never tell it to anyone').waitFor();
    },
    'device-taken-back': async (page) => {
      await openWaiting(page);
      await pressed(page, 'Withdraw approval');
      await headed(page, 'Approval withdrawn');
    },
    'device-done': async (page) => {
      await pollDevice(service, await openWaiting(page));
      await page.getByText('Your device is signed in. You can close this window').waitFor();
    },
    'device-not-picked-up': async (page) => {
      await page.clock.install();
      await openWaiting(page);
      await page.clock.fastForward('11:00');
      await page.getByText("Your device didn't finish signing in before the code expired").waitFor();
    },
    'device-denied': async (page) => {
      await openPending(page, plain);
      await pressed(page, 'Deny');
      await headed(page, 'Denied');
    },
  };
};
