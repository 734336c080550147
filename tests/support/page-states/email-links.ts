// The pages behind the links in emails about an email change and in security notices.

import type { Driver } from '../driver.ts';
import { giveSession, headed, linkTo, newAddress, pressed } from '../people.ts';
import { opens, type PageStates } from './page-state.ts';

export const emailLinkStates = ({ url, ask, login, deviceLogin }: Driver): PageStates => {
  /** A link that changes the email of a new account from this address. */
  const changeFrom = async (former: string): Promise<string> => {
    const { access_token: token } = await login(former);
    const email = newAddress();
    await ask('POST', '/me/email', { token, json: { email } });
    return linkTo(url, email, 'Confirm your new address');
  };
  /** The link of the notice about a new device. */
  const newDevice = async (): Promise<string> => {
    const email = newAddress();
    await deviceLogin(await login(email), { device_name: 'strange laptop' });
    return linkTo(url, email, 'A new device signed in');
  };
  return {
    'verify-email-expired': async (page) => {
      await page.goto(`${url}/verify-email#token=lk_ec_some`);
      await page.getByLabel('Current email address').fill('ada@example.com');
      await pressed(page, 'Change email');
      await page.getByText("That didn't work").waitFor();
    },
    'verify-email-signed-in': async (page) => {
      const former = newAddress();
      await giveSession(page, url, former);
      await page.goto(await changeFrom(former));
      await page.getByText('will change from').waitFor();
    },
    'verify-email-done': async (page) => {
      const former = newAddress();
      await giveSession(page, url, former);
      await page.goto(await changeFrom(former));
      await pressed(page, 'Change email');
      await headed(page, 'Email changed');
    },
    'verify-email-kept': async (page) => {
      await page.goto(`${url}/verify-email#token=lk_ec_some`);
      await pressed(page, "Don't change");
      await headed(page, 'Nothing was changed');
    },
    'not-me-incomplete': opens(`${url}/not-me`, 'This link is incomplete'),
    'not-me': async (page) => {
      const email = newAddress();
      const { access_token: token } = await login(email);
      const json = { name: 'build', scope: 'profile', expires_in: 86_400 };
      await ask('POST', '/keys', { token, json });
      await page.goto(await linkTo(url, email, 'An API key was created'));
      await page.locator('#about').getByText('An API key was created for your Latchkey account').waitFor();
    },
    'not-me-done': async (page) => {
      await page.goto(await newDevice());
      await pressed(page, "This wasn't me");
      await headed(page, 'Thanks for letting us know');
    },
    'not-me-approver-ended': async (page) => {
      await page.goto(await newDevice());
      await pressed(page, "This wasn't me");
      await pressed(page, 'Undo everything since then');
      await page.getByText('Everything since the session that approved the device began').waitFor();
    },
  };
};
