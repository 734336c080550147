// The main states of the pages in one language, found by the texts of that language.

import type { Language } from '@latchkey/contract/languages';
import type { Page } from 'playwright-core';
import { allTexts } from '../../../packages/dashboard/src/languages/all.ts';
import { untilLoaded } from '../browser.ts';
import { newAddress, pressed, signedIn, startDevice, titled } from '../people.ts';

/** The main states of the pages in a language, of a browser that prefers it. Each continues from the one before. */
export function mainStates(
  page: Page,
  url: string,
  language: Language,
): [name: string, open: () => Promise<unknown>][] {
  const { common, login, magicLink, emailLink, verifyEmail, notMe, device, account } = allTexts[language];
  const email = newAddress();
  return [
    [
      'login',
      async () => {
        await page.goto(`${url}/login`);
        await titled(page, common.signIn);
      },
    ],
    [
      'login-sent',
      async () => {
        await page.getByLabel(common.emailAddress).fill('ada.lovelace@gmail.com');
        await pressed(page, login.emailLink);
        await titled(page, login.checkEmail);
      },
    ],
    [
      'magic-link-dead',
      async () => {
        await page.goto(`${url}/magic-link#token=lk_ml_expired`);
        await titled(page, magicLink.dead);
      },
    ],
    [
      'verify-email',
      async () => {
        await page.goto(`${url}/verify-email#token=lk_ec_some`);
        await page.getByLabel(verifyEmail.currentEmail).waitFor();
      },
    ],
    [
      'not-me',
      async () => {
        await page.goto(`${url}/not-me#token=lk_nm_some`);
        await titled(page, notMe.heading);
      },
    ],
    [
      'not-me-kept',
      async () => {
        await pressed(page, notMe.decline);
        await titled(page, emailLink.unchanged);
      },
    ],
    [
      'device',
      async () => {
        await signedIn(page, url, email);
        await page.goto((await startDevice(url, { device_name: 'laptop' })).verification_uri_complete);
        await titled(page, device.question);
        await page.getByText(common.everything).waitFor();
      },
    ],
    [
      'device-approved',
      async () => {
        await page.locator('#approve[aria-disabled=false]').click();
        await page.getByText(device.status.waiting).waitFor();
      },
    ],
    [
      'account',
      async () => {
        await page.goto(`${url}/account`);
        await titled(page, account.heading);
        await untilLoaded(page);
      },
    ],
    [
      'account-forms',
      async () => {
        await pressed(page, account.email.change);
        await pressed(page, account.keys.create);
        await page.getByLabel(account.keys.secretless).check();
      },
    ],
    [
      'account-editing',
      // In the place of the form for the email.
      () => pressed(page, account.profile.edit),
    ],
    [
      'account-deletion',
      async () => {
        await page.locator('#delete-account').click();
        await page.getByText(account.danger.delete.warning).waitFor();
      },
    ],
    [
      'not-found',
      async () => {
        await page.goto(`${url}/nowhere`);
        await titled(page, allTexts[language].frame.notFound.title);
      },
    ],
  ];
}
