// The main states of the pages in one language, found by the texts of that language.

import type { Language } from '@latchkey/contract/languages';
import { allTexts } from '../../../packages/dashboard/src/languages/all.ts';
import { untilLoaded } from '../browser.ts';
import { startDevice } from '../devices.ts';
import { serviceAt } from '../http.ts';
import { newAddress, pressed, signedIn, titled } from '../people.ts';
import type { PageStates } from './page-state.ts';

/** The main states of the pages in a language, of one page of a browser that prefers it. Each continues from the one before. */
export function mainStates(url: string, language: Language): PageStates {
  const { common, login, magicLink, emailLink, verifyEmail, notMe, device, account } = allTexts[language];
  const email = newAddress();
  return {
    login: async (page) => {
      await page.goto(`${url}/login`);
      await titled(page, common.signIn);
    },
    'login-sent': async (page) => {
      await page.getByLabel(common.emailAddress).fill('ada.lovelace@gmail.com');
      await pressed(page, login.emailLink);
      await titled(page, login.checkEmail);
    },
    'magic-link-dead': async (page) => {
      await page.goto(`${url}/magic-link#token=lk_ml_expired`);
      await titled(page, magicLink.dead);
    },
    'verify-email': async (page) => {
      await page.goto(`${url}/verify-email#token=lk_ec_some`);
      await page.getByLabel(verifyEmail.currentEmail).waitFor();
    },
    'not-me': async (page) => {
      await page.goto(`${url}/not-me#token=lk_nm_some`);
      await titled(page, notMe.heading);
    },
    'not-me-kept': async (page) => {
      await pressed(page, notMe.decline);
      await titled(page, emailLink.unchanged);
    },
    device: async (page) => {
      await signedIn(page, url, email);
      await page.goto(
        (await startDevice(serviceAt(url), { device_name: 'laptop' })).verification_uri_complete,
      );
      await titled(page, device.question);
      await page.getByText(common.everything).waitFor();
    },
    'device-approved': async (page) => {
      await page.locator('#approve[aria-disabled=false]').click();
      await page.getByText(device.status.waiting).waitFor();
    },
    account: async (page) => {
      await page.goto(`${url}/account`);
      await titled(page, account.heading);
      await untilLoaded(page);
    },
    'account-forms': async (page) => {
      await pressed(page, account.email.change);
      await pressed(page, account.keys.create);
      await page.getByLabel(account.keys.secretless).check();
    },
    // In the place of the form for the email.
    'account-editing': (page) => pressed(page, account.profile.edit),
    'account-deletion': async (page) => {
      await page.locator('#delete-account').click();
      await page.getByText(account.danger.delete.warning).waitFor();
    },
    'not-found': async (page) => {
      await page.goto(`${url}/nowhere`);
      await titled(page, allTexts[language].frame.notFound.title);
    },
  };
}
