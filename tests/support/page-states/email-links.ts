// The pages behind the links in emails about an email change and in security notices.

import { deviceTokens, loginByMail, request } from '../http.ts';
import { giveSession, headed, linkTo, newAddress, pressed } from '../people.ts';
import type { PageStates } from './page-state.ts';

export const emailLinkStates = (url: string): PageStates => ({
  'verify-email': async (page) => {
    await page.goto(`${url}/verify-email#token=lk_ec_some`);
    await page.getByLabel('Current email address').waitFor();
  },
  'verify-email-expired': async (page) => {
    await page.goto(`${url}/verify-email#token=lk_ec_some`);
    await page.getByLabel('Current email address').fill('ada@example.com');
    await pressed(page, 'Change email');
    await page.getByText("That didn't work").waitFor();
  },
  'verify-email-signed-in': async (page) => {
    const email = newAddress();
    await giveSession(page, url, `former-${email}`);
    const { access_token: token } = await loginByMail(url, `former-${email}`);
    await request(url, 'POST', '/me/email', { token, json: { email } });
    await page.goto(await linkTo(url, email, 'Confirm your new address'));
    await page.getByText('will change from').waitFor();
  },
  'verify-email-done': async (page) => {
    const email = newAddress();
    const { access_token: token } = await loginByMail(url, `former-${email}`);
    await request(url, 'POST', '/me/email', { token, json: { email } });
    await page.goto(await linkTo(url, email, 'Confirm your new address'));
    await page.getByLabel('Current email address').fill(`former-${email}`);
    await pressed(page, 'Change email');
    await headed(page, 'Email changed');
  },
  'verify-email-kept': async (page) => {
    await page.goto(`${url}/verify-email#token=lk_ec_some`);
    await pressed(page, "Don't change");
    await headed(page, 'Nothing was changed');
  },
  'not-me-incomplete': async (page) => {
    await page.goto(`${url}/not-me`);
    await headed(page, 'This link is incomplete');
  },
  'not-me': async (page) => {
    const email = newAddress();
    const { access_token: token } = await loginByMail(url, email);
    await request(url, 'POST', '/keys', {
      token,
      json: { name: 'build', scope: 'profile', expires_in: 86_400 },
    });
    await page.goto(await linkTo(url, email, 'An API key was created'));
    await page.locator('#about').getByText('An API key was created for your Latchkey account').waitFor();
  },
  'not-me-kept': async (page) => {
    await page.goto(`${url}/not-me#token=lk_nm_some`);
    await pressed(page, 'This was me');
    await headed(page, 'Nothing was changed');
  },
  'not-me-done': async (page) => {
    const email = newAddress();
    const { access_token: token } = await loginByMail(url, email);
    await deviceTokens(url, token, { device_name: 'strange laptop' });
    await page.goto(await linkTo(url, email, 'A new device signed in'));
    await pressed(page, "This wasn't me");
    await headed(page, 'Thanks for letting us know');
  },
  'not-me-approver-ended': async (page) => {
    const email = newAddress();
    const { access_token: token } = await loginByMail(url, email);
    await deviceTokens(url, token, { device_name: 'strange laptop' });
    await page.goto(await linkTo(url, email, 'A new device signed in'));
    await pressed(page, "This wasn't me");
    await pressed(page, 'Undo everything since then');
    await page.getByText('Everything since the session that approved the device began').waitFor();
  },
});
