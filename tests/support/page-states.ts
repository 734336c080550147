// Every page in every state worth checking, for axe-core and for screenshots.

import { mailTo } from './http.ts';
import { declareTickets } from './keys.ts';
import { accountStates, fillAccount } from './page-states/account.ts';
import { authorizeStates } from './page-states/authorize.ts';
import { brandedStates, startBranded } from './page-states/branded.ts';
import { deviceStates } from './page-states/device.ts';
import { emailLinkStates } from './page-states/email-links.ts';
import { keyStates } from './page-states/keys.ts';
import { loginStates } from './page-states/login.ts';
import { opens, type PageStates } from './page-states/page-state.ts';
import { touchStates } from './page-states/touch.ts';
import { startProgram } from './program.ts';
import { startService, type TestService } from './service.ts';

interface ServiceWithStates {
  readonly service: TestService;
  readonly states: PageStates;
}

/** Starts a service with the data that the states show. */
export async function openPageStates(): Promise<ServiceWithStates> {
  const program = startProgram();
  const env = {
    LATCHKEY_DEVICE_POLL_INTERVAL: '1',
    LATCHKEY_CLIENT_HOSTS: program.host,
    LATCHKEY_TRUSTED_ISSUERS: 'github',
  };
  const service = await startService({ env });
  const branded = await startBranded();
  const { url } = service;
  await declareTickets(service);
  await fillAccount(service);
  return {
    service: {
      ...service,
      stop: async () => {
        await Promise.all([branded.stop(), program.stop()]);
        return service.stop();
      },
    },
    states: {
      ...loginStates(url),
      ...deviceStates(service),
      ...accountStates(service),
      ...keyStates(url),
      ...touchStates(service, program),
      ...emailLinkStates(service),
      ...otherStates(service),
      ...authorizeStates(url, program),
      ...brandedStates(branded.url),
    },
  };
}

const otherStates = ({ url, ask }: TestService): PageStates => ({
  'not-found': opens(`${url}/nowhere`, 'Page not found'),
  docs: async (page) => {
    await page.goto(`${url}/docs`);
    await page.getByRole('button', { name: 'Copy' }).first().waitFor();
  },
  'dev-mailbox': async (page) => {
    await ask('POST', '/magic_link', { json: { email: 'mailbox@example.com' } });
    await mailTo(url, 'mailbox@example.com');
    await page.goto(`${url}/dev/mailbox`);
  },
});
