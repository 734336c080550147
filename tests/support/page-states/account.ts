// The account page, with little and with much to show.

import { fieldLimits } from '@latchkey/contract/field-limits';
import { newPasskey } from '../account.ts';
import { untilLoaded } from '../browser.ts';
import type { Driver } from '../driver.ts';
import { deleteAccount, headed, pressed, refuse, signIn, signInByCode, startRun } from '../people.ts';
import { patchMe } from '../security-log.ts';
import { longName, type PageStates, rightToLeft } from './page-state.ts';

const names = ['laptop', longName, rightToLeft, 'build-07 (blue)', 'Сборочная машина на четвёртом этаже'];
const nameOf = (index: number) => names[index % names.length] as string;
const fullEmail = 'full@example.com';
const fullAccount = { passkeys: fieldLimits.passkeys, logins: 50 };

/** Fills the account that `account-full` shows. */
export async function fillAccount(service: Driver): Promise<void> {
  const own = await service.login(fullEmail);
  await patchMe(service, own, { name: rightToLeft });
  // Before the passkeys, which would have to confirm each approval.
  for (let index = 0; index < fullAccount.logins; index++)
    await service.deviceLogin(own, { device_name: nameOf(index), client_name: 'latchkey' });
  for (let index = 0; index < fullAccount.passkeys; index++)
    await newPasskey(service, own, { name: nameOf(index) });
}

export const accountStates = ({ url, login, deviceLogin }: Driver): PageStates => ({
  'account-new': async (page) => {
    await signInByCode(page, url, 'new@example.com');
    await page.getByText('Skip the email next time').waitFor();
    await untilLoaded(page);
  },
  'account-full': async (page) => {
    await signIn(page, url, fullEmail);
    await page.getByRole('button', { name: 'Show all' }).click();
    await page.locator('#sessions > li').nth(fullAccount.logins).waitFor();
  },
  'account-narrow-sessions': async (page) => {
    const email = 'narrow@example.com';
    const own = await login(email);
    const tickets = { scope: 'tickets:read tickets:write', resource: 'https://tickets.example/api' };
    for (const access of [{ scope: 'openid' }, { scope: 'profile email organizations' }, tickets])
      await deviceLogin(own, { device_name: 'laptop', ...access });
    await signIn(page, url, email);
    await page.getByText('Read the tickets of your organizations (Tickets)').waitFor();
  },
  'account-runs': async (page) => {
    const email = 'runs@example.com';
    const { access_token } = await deviceLogin(await login(email), { device_name: 'workshop' });
    const authorization_details = JSON.stringify([
      { type: 'ticket_access', tickets: [4711, 4712], actions: ['read'] },
    ]);
    await startRun(url, access_token, 'profile tickets:read', { authorization_details });
    await startRun(url, access_token, 'organizations');
    await signIn(page, url, email);
    await page.getByText('Limited to these details').click();
  },
  'account-asking': async (page) => {
    await signIn(page, url, 'new@example.com');
    await pressed(page, 'Change email');
    await deleteAccount(page, 'somebody.else@example.com');
    await page.getByText("That isn't the email address of this account").waitFor();
  },
  'account-end-other-sessions': async (page) => {
    await login('ending@example.com');
    await signIn(page, url, 'ending@example.com');
    await page.getByRole('button', { name: 'End other sessions' }).click();
    await page.locator('.question').waitFor();
  },
  'account-sign-out-everywhere': async (page) => {
    await signIn(page, url, 'new@example.com');
    await pressed(page, 'Sign out everywhere');
    await page.getByRole('dialog', { name: 'Sign out everywhere?' }).waitFor();
  },
  'account-editing': async (page) => {
    await signIn(page, url, 'new@example.com');
    await pressed(page, 'Edit profile');
    await page.getByLabel('Name', { exact: true }).fill('\u2060');
    await pressed(page, 'Save');
    await page.getByText("That name can't be used").waitFor();
  },
  'account-confirm': async (page) => {
    await signIn(page, url, 'new@example.com');
    await pressed(page, 'Change email');
    await page.getByLabel('New email address').fill('newer@example.com');
    await refuse(page, 'me/email', [401, 'insufficient_user_authentication']);
    await pressed(page, 'Send confirmation link');
    await page.getByRole('dialog', { name: "Confirm it's you" }).waitFor();
  },
  'account-somebody-else': async (page) => {
    await signIn(page, url, 'new@example.com');
    const tab = await page.context().newPage();
    await signInByCode(tab, url, 'someone.else@example.com');
    await tab.close();
    await pressed(page, 'Sign out');
    await page.getByRole('dialog', { name: "You're signed in to a different account" }).waitFor();
  },
  'account-loading': async (page) => {
    await signIn(page, url, 'new@example.com');
    for (const list of ['passkeys', 'sessions?*', 'keys?*', 'organizations?*', 'events?*'])
      await page.route(`**/auth/${list}`, () => {});
    await page.reload();
    await page.getByRole('status').getByText('Loading…').waitFor();
    await headed(page, 'Activity');
  },
  'account-failed-parts': async (page) => {
    await signIn(page, url, 'new@example.com');
    await page.route('**/auth/passkeys', (route) => route.abort());
    await page.route('**/auth/sessions?*', (route) => route.abort());
    await refuse(page, 'events?*', [503, 'temporarily_unavailable', { 'Retry-After': '30' }]);
    await page.reload();
    await page.getByText("Activity couldn't be loaded").waitFor();
    await untilLoaded(page);
  },
});
