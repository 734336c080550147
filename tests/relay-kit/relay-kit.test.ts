// A relay kit: an attacker far away starts a login the moment a person clicks a link, and hopes for the session. The people do
// whatever a page tells them. Most use the endpoints of the pages, and one a browser, which shows what there is to copy. The page with the
// code of `confirm` is in tests/browser/device.test.ts.

import { describe, expect, test } from 'bun:test';
import { createApi } from '@latchkey/client/api';
import { startBrowserLogin } from '@latchkey/client/browser-login';
import { startDeviceLogin } from '@latchkey/client/device-login';
import { openApp, type TestApp, type Tokens } from '#support/app.ts';
import { asBrowser, commandLineRequest, redeem, requestOf } from '#support/authorize.ts';
import { newPage } from '#support/browser.ts';
import { codeOf } from '#support/client.ts';
import { newAddress, phone, signedIn } from '#support/people.ts';
import { authorizePath } from '#support/program.ts';
import { startService } from '#support/service.ts';
import { shared } from '#support/shared.ts';

const attackersNetwork = '198.51.100.9';
const peoplesNetwork = '192.0.2.77';
const hostile = 'https://evil.example';

/** What is there after a person has done what the link asks: what address bar and page show, and what a program on their computer receives. */
type Aftermath = Readonly<Record<'shown' | 'received', string>>;

/** What the attacker made at a click: the page that the person is led to, and a try at the session. */
interface Lure {
  readonly obey: (tokens: Tokens) => Promise<Aftermath>;
  readonly take: (told: string) => Promise<boolean>;
}

type Kit = (t: TestApp, click: number) => Promise<Lure | undefined>;

const relayedDeviceCode: Kit = async (t) => {
  const started = await t.ask('POST', '/device', { json: { confirmation: true }, peer: attackersNetwork });
  if (started.status !== 200) return undefined;
  const { device_code, user_code, verification_uri_complete } = started.body;
  return {
    obey: async ({ access_token: token }) => {
      const json = { user_code };
      const { text } = await t.ask('POST', '/device/approve', { json, token, peer: peoplesNetwork });
      return { shown: `${verification_uri_complete} ${text}`, received: '' };
    },
    take: async (told) => {
      const [confirmation_code] = /\b\d{6}\b/.exec(told) ?? [];
      const json = { device_code, ...(confirmation_code && { confirmation_code }) };
      return (await t.ask('POST', '/token', { json, peer: attackersNetwork })).status === 200;
    },
  };
};

/** The command line's request in every shape that could bring the code to somebody else. */
const requests = [
  commandLineRequest(),
  commandLineRequest({ response_mode: 'query' }),
  commandLineRequest({ response_mode: undefined }),
  commandLineRequest({ redirect_uri: 'https://evil.example/callback' }),
  commandLineRequest({ redirect_uri: 'http://127.0.0.1:41234@evil.example/path' }),
  requestOf('latchkey-cli', { redirect_uri: 'http://localhost:41234/path' }),
];

/** One for each request. */
const people = requests.length;

const relayedAuthorization: Kit = async (t, click) => {
  const request = requests[click]!;
  return {
    obey: async (tokens) => {
      const verified = await asBrowser(t, tokens, 'verify', request);
      const approved = await asBrowser(t, tokens, 'approve', {
        ...request,
        scope: verified.body.scope ?? '*',
      });
      const { form_post, redirect } = approved.body;
      const shown = redirect ?? form_post?.action ?? authorizePath(request);
      return { shown, received: form_post?.fields.code ?? '' };
    },
    take: async (told) => {
      const [code] = /lk_ac_[\w-]+/.exec(told) ?? [];
      if (code === undefined) return false;
      const { client_id, redirect_uri } = request;
      return (await redeem(t, code, { client_id, redirect_uri }, { peer: attackersNetwork })).status === 200;
    },
  };
};

/** A server that people were told to sign in at, and that names the honest one as the place to do so. If that starts, it has won. */
const hostileServer: Kit = async (t, click) => {
  const honest = t.ctx.config.baseUrl;
  const metadata = [
    { issuer: honest, authorization_endpoint: `${honest}/authorize`, token_endpoint: `${honest}/token` },
    { issuer: hostile, authorization_endpoint: `${honest}/authorize`, token_endpoint: `${hostile}/token` },
  ];
  const api = createApi({
    server: hostile,
    fetch: async (url, init) => {
      const { pathname } = new URL(url);
      if (pathname.endsWith('/device')) return t.fetch(honest + pathname, init, attackersNetwork);
      return Response.json(metadata[click % metadata.length], { headers: { 'X-Request-Id': 'one' } });
    },
  });
  const started = click % 3 === 0 ? startDeviceLogin(api) : startBrowserLogin(api);
  if ((await codeOf(started)) !== 'no error') return undefined;
  return { obey: async () => ({ shown: '', received: '' }), take: async () => true };
};

/** What people tell the attacker. */
const tales = {
  'tell nothing': () => '',
  'tell what page and address bar show': ({ shown }: Aftermath) => shown,
  'installed a hostile program': ({ received }: Aftermath) => received,
};

const modes = ['open', 'confirm', 'off'] as const;
/** The sessions that the attacker gets in each mode. */
const figures: readonly [string, Kit, keyof typeof tales, open: number, confirm: number, off: number][] = [
  ['relayed device code', relayedDeviceCode, 'tell nothing', people, 0, 0],
  ['relayed device code', relayedDeviceCode, 'tell what page and address bar show', people, people, 0],
  ['relayed authorization', relayedAuthorization, 'tell what page and address bar show', 0, 0, 0],
  // Nothing here stops a program that the person installed, which one request in six has in mind.
  ['relayed authorization', relayedAuthorization, 'installed a hostile program', 1, 1, 1],
  ['hostile server', hostileServer, 'tell nothing', 0, 0, 0],
];

describe.each(modes)('with LATCHKEY_DEVICE_LOGIN=%s', (mode) => {
  const t = shared(() => openApp('sqlite', { settings: { LATCHKEY_DEVICE_LOGIN: mode } }));
  for (const [what, kit, tale, ...expected] of figures) {
    const count = expected[modes.indexOf(mode)]!;
    test(`a ${what} of ${people} people who ${tale} gets ${count} sessions`, async () => {
      let sessions = 0;
      for (let click = 0; click < people; click++) {
        const lure = await kit(t, click);
        if (!lure) continue;
        const told = tales[tale](await lure.obey(await t.login(newAddress())));
        if (await lure.take(told)) sessions++;
      }
      expect(sessions).toBe(count);
    });
  }
});

test('in a browser, the way back to a computer where nothing listens shows no code', async () => {
  const service = await startService();
  const page = await newPage(phone);
  await signedIn(page, service.url, newAddress());
  const shown: string[] = [];
  page.on('framenavigated', (frame) => shown.push(frame.url()));
  const failed = page.waitForEvent('requestfailed', (request) => request.isNavigationRequest());
  await page.goto(`${service.url}${authorizePath(commandLineRequest())}`);
  await page.locator('#approve[aria-disabled=false]').click();
  expect((await failed).postData()).toContain('lk_ac_');
  await page.waitForURL((url) => !url.href.startsWith(service.url));
  shown.push(page.url(), await page.locator('html').innerText());
  await page.goBack();
  shown.push(page.url(), await page.locator('html').innerText());
  expect(shown.join('\n')).not.toContain('lk_ac_');
});
