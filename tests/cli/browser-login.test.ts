// `latchkey login` with a browser that comes back to this machine: when it is chosen, and what is left when it ends.

import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { newPage } from '#support/browser.ts';
import { addCommand, type Home, latchkey, newHome, program } from '#support/cli.ts';
import { service } from '#support/common-service.ts';
import { signedIn } from '#support/people.ts';
import { openTerminal, type Terminal } from '#support/terminal.ts';
import { until } from '#support/until.ts';

/** Without a screen. */
const container = { REMOTE_CONTAINERS: 'true', DISPLAY: '' };
const BROWSER = `no-such-browser:test-browser --title 'a b'`;
const overSsh = { SSH_CONNECTION: '192.0.2.1 1 192.0.2.2 22' };

/** A machine with a screen, whose browser only writes down what it is to open. */
function machine(env: Record<string, string> = {}, server = service.url) {
  const home = newHome({ LATCHKEY_SERVER: server });
  const opened = join(home.path, 'opened');
  addCommand(home, 'test-browser', `#!/bin/sh\nprintf '%s|' "$@" >>'${opened}'\n`);
  addCommand(home, 'xdg-open', '#!/bin/sh\nexec test-browser "$1"\n');
  const screen = { DISPLAY: ':99', BROWSER: 'test-browser', XDG_DATA_DIRS: home.path, ...env };
  return {
    home,
    login: (...args: string[]): Terminal => openTerminal(home, [program, 'login', ...args], screen),
    opened: Bun.file(opened),
  };
}

/** An opener that takes long may still run when the login goes on. */
const isOpened = (opened: Bun.BunFile, written: string) =>
  until(async () => (await opened.exists()) && (await opened.text()) === written, 'the opened address');

const linkOf = async (terminal: Terminal): Promise<URL> =>
  new URL(Bun.stripANSI((await terminal.shows(/http\S+\/authorize\?\S+\r$/m))[0].trim()));

/** Comes back as the page of the service does after this person's approval. */
async function comeBack(link: URL, email: string): Promise<Response> {
  const { access_token: token } = await service.login(email);
  const asked = Object.fromEntries(link.searchParams);
  const { scope } = (await service.ask('POST', '/authorize/verify', { json: asked, token })).body;
  const json = { ...asked, scope };
  const { body } = await service.ask('POST', '/authorize/approve', { json, token });
  const { action, fields } = body.form_post;
  return fetch(action, { method: 'POST', body: new URLSearchParams(fields) });
}

const expectSignedIn = async (home: Home, terminal: Terminal, email: string) => {
  expect(await terminal.exited).toBe(0);
  expect(terminal.screen()).toEndWith(`Signed in to ${service.url} as ${email}.\r\n`);
  expect(JSON.parse((await latchkey(home, 'whoami', '--json')).stdout).email).toBe(email);
};

test('a terminal on a machine with a browser opens it, and takes the approval by one click in it, whose tab then can be closed', async () => {
  const page = await newPage();
  await signedIn(page, service.url, 'clicks@example.com');
  const { home, login, opened } = machine();
  const terminal = login('--device-name', 'workshop');
  const link = await linkOf(terminal);
  await terminal.shows(/Waiting for your browser \([0-4]:[0-5]\d\)/);
  expect(Bun.stripANSI(terminal.screen()).split('\r\n')).toContain(link.href);
  await page.goto(link.href);
  await page.getByText('workshop').waitFor();
  await page.locator('#approve[aria-disabled=false]').click();
  await page.getByText('You can close this tab').waitFor();
  expect(page.url()).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{22}$/);
  await expectSignedIn(home, terminal, 'clicks@example.com');
  await isOpened(opened, `${link.href}|`);
});

test.each<[what: string, Record<string, string>, string[], waiting: 'browser' | 'approval', opened: string]>([
  ['the opener of the system where the library finds no browser', { BROWSER: '' }, [], 'browser', 'LINK|'],
  [
    'in a container, BROWSER with its arguments',
    { ...container, BROWSER },
    [],
    'browser',
    '--title|a b|LINK|',
  ],
  ['over SSH, BROWSER, with a code', { ...overSsh, DISPLAY: '' }, [], 'approval', 'LINK|'],
  ['with --device, the link with the code', {}, ['--device'], 'approval', 'LINK|'],
  ['with --no-browser, nothing', {}, ['--no-browser'], 'approval', ''],
  ['over SSH without BROWSER, nothing', { ...overSsh, BROWSER: '' }, [], 'approval', ''],
  ['without a screen, nothing', { DISPLAY: '', BROWSER: '' }, [], 'approval', ''],
  ['in a container, nothing', { ...container, DISPLAY: ':99', BROWSER: '' }, [], 'approval', ''],
])('what opens the link: %s', async (_, env, args, waiting, written) => {
  const { login, opened } = machine(env);
  const terminal = login(...args);
  await terminal.shows(new RegExp(`Waiting for your ${waiting}`));
  expect(await terminal.interrupt()).toBe(130);
  expect(terminal.screen()).toEndWith('latchkey: Login cancelled. Nothing was changed.\r\n');
  const screen = Bun.stripANSI(terminal.screen());
  const links = screen.match(/http\S+\/(authorize\?\S+|device\?user_code=[\w-]+)/g);
  expect(links).toEqual([expect.stringContaining(waiting === 'browser' ? '/authorize?' : '/device?')]);
  if (waiting === 'approval') expect(screen.includes('opened in your browser')).toBe(written !== '');
  if (written === '') expect(await opened.exists()).toBe(false);
  else
    await isOpened(
      opened,
      written.replace('LINK', () => links![0]!),
    );
});

test('a server that names another one is refused with both addresses, before a browser opens', async () => {
  const { login, opened } = machine({}, service.url.replace('localhost', '127.0.0.1'));
  for (const args of [[], ['--device'], ['--port', '1']]) {
    const terminal = login(...args);
    expect(await terminal.exited).toBe(1);
    expect(terminal.screen()).toContain(
      `says that its address is ${service.url}. If that is where you want to sign in, give --server ${service.url}.`,
    );
    expect(terminal.screen()).not.toMatch(/authorize|\/device|[B-Z]{4}-[B-Z]{4}/);
  }
  expect(await opened.exists()).toBe(false);
});

test('a code is used instead if the port is taken or the browser cannot be opened', async () => {
  const { port } = new URL(service.url);
  for (const [terminal, why] of [
    [machine().login('--port', port), `Port ${port} of 127.0.0.1 cannot be used: it is already in use.`],
    [machine({ BROWSER: 'no-such-browser' }).login(), 'The browser could not be opened.'],
  ] as const) {
    await terminal.shows(/Waiting for your approval/);
    await terminal.interrupt();
    expect(terminal.screen()).toContain(`${why} Signing in with a code instead.\r\n`);
    if (!why.startsWith('Port')) expect(terminal.screen()).not.toContain('opened in your browser');
  }
});

test('with --port, a browser of another machine comes back over a forwarded port', async () => {
  const free = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() });
  const port = String(free.port);
  await free.stop(true);
  const { home, login, opened } = machine({ ...overSsh, BROWSER: '' });
  const terminal = login('--port', port);
  const link = await linkOf(terminal);
  expect(new URL(link.searchParams.get('redirect_uri') ?? '').port).toBe(port);
  await comeBack(link, 'ssh@example.com');
  await expectSignedIn(home, terminal, 'ssh@example.com');
  expect(await opened.exists()).toBe(false);
});
