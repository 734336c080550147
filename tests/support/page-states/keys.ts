// The states of the section for keys on the account page.

import { untilLoaded } from '../browser.ts';
import { serviceAt } from '../http.ts';
import { pressed, signIn } from '../people.ts';
import type { PageStates } from './page-state.ts';

const longName = `Nachtlauf-${'überlang'.repeat(11)}`;

/** Keys with little and much to show, one of them used. */
async function createKeys(url: string, email: string): Promise<void> {
  const { api, login } = serviceAt(url);
  const { access_token: accessToken } = await login(email);
  const day = 86_400;
  for (const body of [
    { name: 'deploy', scope: '*', expires_in: 30 * day },
    {
      name: 'release',
      scope: 'tickets:write',
      expires_in: 90 * day,
      trust: {
        issuer: 'https://token.actions.githubusercontent.com',
        claims: { repository_id: '784120233', repository_owner_id: '1099001', environment: 'production' },
      },
    },
    { name: 'بناء ليلي', scope: 'tickets:read', resource: 'https://tickets.example/api', expires_in: day },
    {
      name: longName,
      scope: 'profile email organizations tickets:read tickets:write openid',
      expires_in: 365 * day,
    },
  ]) {
    const { key = '' } = await api.call('createKey', { accessToken, body });
    if (body.scope === '*') await api.call('getProfile', { accessToken: key });
  }
}

const prefilled = `?${new URLSearchParams({
  'new-key': '1',
  name: 'night build',
  scope: 'tickets:read tickets:delete',
  resource: 'https://builds.example/api',
  expires: '43200',
})}`;

const secretless = `?${new URLSearchParams([
  ['new-key', '1'],
  ['name', 'release'],
  ['scope', 'tickets:write'],
  ['issuer', 'https://token.actions.githubusercontent.com'],
  ['claim', 'repository_id=784120233'],
  ['claim', 'environment=production'],
])}`;

export const keyStates = (url: string): PageStates => ({
  'account-key-requested': async (page) => {
    await signIn(page, url, 'key-requested@example.com');
    await page.goto(`${url}/account${prefilled}`);
    await untilLoaded(page);
    await pressed(page, 'Create API key');
    await page.getByText('Clear the entries that no service offers.').waitFor();
  },
  'account-key-untrusted': async (page) => {
    await signIn(page, url, 'key-untrusted@example.com');
    await page.goto(`${url}/account${secretless}`);
    await page.getByText('Add one more claim').waitFor();
    await untilLoaded(page);
  },
  'account-key-created': async (page) => {
    await signIn(page, url, 'key-created@example.com');
    await pressed(page, 'Create API key');
    await page.getByLabel('Name', { exact: true }).fill(longName);
    await page.getByLabel('Do everything you can do').check();
    await pressed(page, 'Create API key');
    await page.getByRole('button', { name: 'Copy key' }).waitFor();
  },
  'account-keys': async (page) => {
    await createKeys(url, 'keys@example.com');
    await signIn(page, url, 'keys@example.com');
    await page.locator('#keys > li').getByRole('button', { name: 'Remove' }).last().click();
    await page.getByRole('button', { name: 'Remove API key' }).waitFor();
  },
});
