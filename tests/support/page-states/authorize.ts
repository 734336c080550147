// The page of authorization requests.

import type { Page } from 'playwright-core';
import { commandLineRequest, requestOf } from '../authorize.ts';
import { alter, giveSession, headed } from '../people.ts';
import { authorizePath, type TestProgram } from '../program.ts';
import { opens, type PageStates } from './page-state.ts';

export const authorizeStates = (url: string, program: TestProgram): PageStates => {
  const { clientId: client_id, redirectUri: redirect_uri } = program;
  const open = (page: Page, request: Record<string, string>) => page.goto(`${url}${authorizePath(request)}`);
  const external = (changed: object = {}) => requestOf(client_id, { redirect_uri, ...changed });
  const openSignedIn = async (page: Page, request: Record<string, string>) => {
    await giveSession(page, url, 'authorize@example.com');
    await open(page, request);
    await headed(page, 'use your Latchkey account?');
  };
  return {
    'authorize-signed-out': async (page) => {
      await open(page, commandLineRequest());
      await page.getByText('A program is waiting for you to sign in').waitFor();
    },
    'authorize-command-line': (page) => openSignedIn(page, commandLineRequest()),
    'authorize-external': (page) =>
      openSignedIn(page, external({ scope: 'profile email organizations tickets:read' })),
    'authorize-service': async (page) => {
      const client = { id: 'svc_grafana', name: 'Grafana', kind: 'service', host: null };
      const members = {
        client,
        redirect_host: 'grafana.example',
        device_name: null,
        loopback_warning: false,
      };
      await alter(page, 'authorize/verify', members);
      await openSignedIn(page, external({ scope: 'openid profile' }));
    },
    'authorize-refused': async (page) => {
      await open(page, external({ scope: 'nobody:declared' }));
      await headed(page, "This request can't be approved");
    },
    'authorize-unknown': async (page) => {
      await open(page, requestOf('svc_unknown'));
      await headed(page, "This request can't be answered");
      await page.getByText('For developers').click();
    },
    'sign-out': async (page) => {
      await giveSession(page, url, 'authorize@example.com');
      await page.goto(`${url}/api/v1/auth/end_session`);
      await page.getByText('Signed in as').waitFor();
    },
    'sign-out-done': opens(`${url}/api/v1/auth/end_session`, "You're signed out"),
    'authorize-approved': async (page) => {
      await openSignedIn(page, commandLineRequest({ redirect_uri }));
      await page.locator('#approve[aria-disabled=false]').click();
      await headed(page, 'You can close this tab');
      await page.goBack();
      await headed(page, 'Approved');
    },
  };
};
