// `latchkey login` and what else asks in a real terminal. With a browser that comes back: browser-login.test.ts.

import { expect, test } from 'bun:test';
import {
  decide,
  deviceLogin,
  type Home,
  latchkey,
  listener,
  newHome,
  program,
  proxyTo,
  storeLogin,
} from '#support/cli.ts';
import { service } from '#support/common-service.ts';
import { refuses, responds } from '#support/responses.ts';
import { openTerminal, type Terminal } from '#support/terminal.ts';

const inTerminal = (
  home: Home,
  args: readonly string[],
  env: Record<string, string> = {},
  columns?: number,
): Terminal => openTerminal(home, [program, ...args], { LATCHKEY_SERVER: service.url, ...env }, columns);

test('a login in a terminal shows its code in the link and beside it, counts down, and ends with the approval', async () => {
  const home = newHome();
  // A phone has as few columns.
  const terminal = inTerminal(home, ['login'], {}, 34);
  const [, inLink] = await terminal.shows(/^\S*?http\S+user_code=([A-Z-]+)/m);
  const [, code = ''] = await terminal.shows(/^\S*?([A-Z]{4}-[A-Z]{4})\S*\r$/m);
  await terminal.shows(/Waiting for your approval \([5-9]:[0-5]\d\)/);

  expect(inLink).toBe(code);
  await decide(service.url, code, 'workshop@example.com');
  expect(await terminal.exited).toBe(0);
  expect(terminal.screen()).toEndWith(`Signed in to ${service.url} as workshop@example.com.\r\n`);
  const whoami = await latchkey(home, 'whoami', '--json', '--server', service.url);
  expect(JSON.parse(whoami.stdout).email).toBe('workshop@example.com');
});

const drawing = /^[█▀▄ ]+$/;

test('the link, the code and the QR code come in this order, each on lines of its own', async () => {
  const verification_uri = 'http://login.example/device';
  const started = {
    device_code: 'lk_dc_1',
    user_code: 'BCDF-GHJK',
    verification_uri,
    verification_uri_complete: `${verification_uri}?user_code=BCDF-GHJK`,
    expires_in: 600,
    interval: 5,
  };
  const elsewhere = listener((request) =>
    request.url.endsWith('/device') ? responds(started) : new Promise(() => {}),
  );
  const network = { LATCHKEY_SERVER: 'http://login.example', HTTP_PROXY: elsewhere.url };
  const terminal = inTerminal(newHome(), ['login', '--insecure-http'], network);
  await terminal.shows(/Waiting for your/);
  await terminal.interrupt();
  const lines = Bun.stripANSI(terminal.screen()).split('\r\n');
  const at = (pattern: RegExp) => lines.findIndex((line) => pattern.test(line));
  expect(at(/^http\S+user_code=\S+$/)).toBeGreaterThan(0);
  expect(at(/^[A-Z]{4}-[A-Z]{4}$/)).toBeGreaterThan(at(/^http/));
  expect(at(drawing)).toBeGreaterThan(at(/^[A-Z]{4}-[A-Z]{4}$/));
  const drawn = lines.filter((line) => drawing.test(line));
  expect(drawn.length).toBeGreaterThan(10);
  expect(new Set(drawn.map((line) => line.length)).size).toBe(1);
});

test('a login asks first if one is stored, unless --yes is given', async () => {
  const home = newHome();
  await storeLogin(home, service.url, 'here@example.com');
  const question = `You are already signed in to ${service.url} as here@example.com. Sign in again? [y/N] `;
  for (const answer of ['\n', 'n\n', 'maybe\n', '\u0004']) {
    const asked = inTerminal(home, ['login']);
    await asked.shows(/Sign in again/);
    asked.type(answer);
    expect(await asked.exited).toBe(130);
    expect(asked.screen()).toStartWith(question);
    expect(asked.screen()).toEndWith('\r\nlatchkey: Your existing login is unchanged.\r\n');
  }
  for (const args of [[], ['--yes'], ['--account', 'another']]) {
    const agreed = inTerminal(home, ['login', ...args]);
    if (args.length === 0) {
      await agreed.shows(/Sign in again/);
      agreed.type('y\n');
    }
    await agreed.shows(/Waiting for your/);
    expect(await agreed.interrupt()).toBe(130);
    expect(agreed.screen().includes('Sign in again')).toBe(args.length === 0);
  }
});

test('a code that the service requires after the approval is asked for in place', async () => {
  const tokens = await deviceLogin(service.url, 'confirmed@example.com', 'laptop');
  const started: unknown[] = [];
  const codes: unknown[] = [];
  const confirming = proxyTo(service, async (asked, path, forward) => {
    if (path.endsWith('/token')) {
      codes.push(Object(await asked.json()).confirmation_code);
      if (codes.at(-1) === '123456') return responds(tokens);
      return refuses('confirmation_required');
    }
    if (path.endsWith('/device')) started.push(await asked.json());
    return forward();
  });
  const home = newHome();
  const terminal = inTerminal(home, ['login'], { LATCHKEY_SERVER: confirming.url });
  await terminal.shows(/Enter the code that your browser shows now: $/);
  terminal.type('\n111 111\n');
  await terminal.shows(/That code is wrong\.\r\nEnter the code that your browser shows now: $/);
  terminal.type('123-456\n');
  expect(await terminal.exited).toBe(0);
  expect(terminal.screen()).toContain(`Signed in to ${confirming.url} as confirmed@example.com.`);
  expect(terminal.screen()).not.toContain('not responding');
  expect(started).toMatchObject([{ confirmation: true }]);
  expect(codes).toEqual([undefined, '111111', '123456']);
  const cancelled = inTerminal(newHome(), ['login'], { LATCHKEY_SERVER: confirming.url });
  await cancelled.shows(/Enter the code that your browser shows now: $/);
  cancelled.type('\u0004');
  expect(await cancelled.exited).toBe(130);
  const unable = await latchkey(newHome({ LATCHKEY_SERVER: confirming.url }), 'login');
  const says = expect.stringContaining('a code that this program cannot ask for');
  expect(unable).toMatchObject({ code: 1, stderr: says });
  expect(started.at(-1)).not.toHaveProperty('confirmation');
});

test('logout --all asks first, unless --yes is given', async () => {
  const home = newHome();
  await storeLogin(home, service.url, 'all@example.com');
  const asked = async (answer: string) => {
    const terminal = inTerminal(home, ['logout', '--all']);
    await terminal.shows(/\[y\/N\] $/);
    terminal.type(answer);
    return { code: await terminal.exited, screen: terminal.screen() };
  };
  expect(await asked('no\n')).toEqual({
    code: 130,
    screen: `End every session and API key of all@example.com on ${service.url}, on every device? [y/N] no\r\nlatchkey: You are still signed in. Nothing was changed.\r\n`,
  });
  expect((await asked('\u0003')).code).toBe(130);
  expect((await latchkey(home, 'whoami', '--server', service.url)).code).toBe(0);
  expect((await asked('Yes\n')).code).toBe(0);
  await storeLogin(home, service.url, 'all@example.com');
  const unasked = inTerminal(home, ['logout', '--all', '--yes']);
  expect(await unasked.exited).toBe(0);
  expect(unasked.screen()).not.toContain('[y/N]');
});

test('Ctrl-C ends a login with status 130, restores the terminal, and leaves the existing login', async () => {
  const home = newHome();
  await storeLogin(home, service.url, 'kept@example.com');
  const before = await Bun.file(home.credentialsFile).text();
  const terminal = inTerminal(home, ['login', '--yes']);
  await terminal.shows(/Waiting for your/);
  expect(await terminal.interrupt()).toBe(130);
  expect(terminal.screen()).toEndWith(
    '\r\u001b[2Klatchkey: Login cancelled. Your existing login is unchanged.\r\n',
  );
  // No hidden cursor, no alternate screen and no open bold.
  expect(terminal.screen()).not.toContain('\u001b[?');
  expect(terminal.screen().split('\u001b[1m').length).toBe(terminal.screen().split('\u001b[22m').length);
  expect(await Bun.file(home.credentialsFile).text()).toBe(before);
});

test('a key is pasted into a terminal as one line', async () => {
  const terminal = inTerminal(newHome(), ['login', '--with-token']);
  await terminal.shows(/Paste the key, and press Enter\./);
  terminal.type('lk_ak_unknown\n');
  expect(await terminal.exited).toBe(1);
  expect(terminal.screen()).toContain('does not accept this key.');
  const waiting = inTerminal(newHome(), ['login', '--with-token']);
  await waiting.shows(/Paste the key/);
  expect(await waiting.interrupt()).toBe(130);
  expect(waiting.screen()).toEndWith('latchkey: Login cancelled. Nothing was changed.\r\n');
});

test('NO_COLOR turns off colour, a dumb terminal also progress; an address of this machine has no QR code', async () => {
  const plain = inTerminal(newHome(), ['login'], { NO_COLOR: '1' });
  await plain.shows(/\([5-9]:[0-5]\d\)/);
  await plain.interrupt();
  expect(plain.screen()).not.toContain('\u001b[1m');
  for (const [env, mark] of [
    [{}, '\u001b[32mok\u001b[39m'],
    [{ NO_COLOR: '1' }, '\nok'],
  ] as const) {
    const doctor = inTerminal(newHome(), ['doctor'], env);
    expect(await doctor.exited).toBe(0);
    expect(doctor.screen()).toContain(`${mark}  Server `);
  }
  // No phone can open it.
  expect(plain.screen().split('\r\n')).not.toContainEqual(expect.stringMatching(drawing));
  const dumb = inTerminal(newHome(), ['login'], { TERM: 'dumb' });
  await dumb.shows(/Waiting for your/);
  await dumb.interrupt();
  expect(dumb.screen()).not.toContain('\u001b');
});

test('a terminal too narrow for the table of sessions shows each as a block, with its whole ID', async () => {
  const home = newHome();
  await storeLogin(home, service.url, 'narrow@example.com');
  const terminal = inTerminal(home, ['sessions']);
  await terminal.exited;
  expect(terminal.screen().match(/^ID +ses_[\w-]{22}\r$/gm)).toHaveLength(2);
});
