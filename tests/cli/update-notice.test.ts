// The notice of a newer version, in a real terminal.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { chmodSync, existsSync, mkdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import manifest from '../../packages/cli/package.json' with { type: 'json' };
import { type Home, latchkey, newHome, program, storeLogin } from '../support/cli.ts';
import { startService, type TestService } from '../support/service.ts';
import { openTerminal } from '../support/terminal.ts';

const notice = /There is a newer version of latchkey/;
const stateFile = '.local/state/latchkey/update-notice';

let service: TestService;
/** Stands before the service, and says that it is another version. */
let front: ReturnType<typeof Bun.serve>;
let version = '9.8.7';
let requests = 0;

beforeAll(async () => {
  service = await startService();
  front = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      requests += 1;
      const { pathname, search } = new URL(request.url);
      const response = await fetch(service.url + pathname + search, request);
      const headers = new Headers(response.headers);
      if (headers.has('Latchkey-Version')) headers.set('Latchkey-Version', version);
      return new Response(response.body, { status: response.status, headers });
    },
  });
});

afterAll(async () => {
  front.stop(true);
  await service.stop();
});

async function signedIn(): Promise<Home> {
  const home = newHome();
  await storeLogin(home, service.url, 'ada@example.com', front.url.origin);
  return home;
}

async function inTerminal(home: Home, args: readonly string[], env: Record<string, string> = {}) {
  const terminal = openTerminal(home, [program, ...args, '--server', front.url.origin], { CI: '', ...env });
  return { code: await terminal.exited, screen: terminal.screen() };
}

test('a terminal is told of a newer version after the result, at most once in 24 hours, without another request', async () => {
  const home = await signedIn();
  const before = requests;
  expect(await inTerminal(home, ['whoami'])).toEqual({
    code: 0,
    screen: [
      `ada <ada@example.com> at ${front.url.origin}`,
      '',
      `There is a newer version of latchkey: ${front.url.origin} runs 9.8.7, and this is ${manifest.version}.`,
      'NO_UPDATE_NOTIFIER=1 turns this notice off.',
      '',
    ].join('\r\n'),
  });
  expect(requests).toBe(before + 1);
  expect((await inTerminal(home, ['sessions'])).screen).not.toMatch(notice);
  const hoursAgo = (hours: number) => {
    const time = Date.now() / 1000 - hours * 3600;
    utimesSync(join(home.path, stateFile), time, time);
  };
  hoursAgo(23);
  expect((await inTerminal(home, ['sessions'])).screen).not.toMatch(notice);
  hoursAgo(25);
  expect((await inTerminal(home, ['sessions'])).screen).toMatch(notice);
  // The clock was set back.
  hoursAgo(-48);
  expect((await inTerminal(home, ['sessions'])).screen).toMatch(notice);
});

test('a script is never told, and it can be turned off', async () => {
  const home = await signedIn();
  const piped = await latchkey(home, 'whoami', '--server', front.url.origin);
  expect([piped.code, piped.stderr]).toEqual([0, '']);
  const captured = openTerminal(home, [
    'sh',
    '-c',
    `out=$('${program}' whoami --server ${front.url.origin})`,
  ]);
  expect([await captured.exited, captured.screen()]).toEqual([0, '']);
  expect((await inTerminal(home, ['whoami', '--json'])).screen).not.toContain('newer');
  for (const env of [{ NO_UPDATE_NOTIFIER: '1' }, { CI: 'true' }, { TERM: 'dumb' }])
    expect((await inTerminal(home, ['whoami'], env)).screen).not.toMatch(notice);
  expect(existsSync(join(home.path, stateFile))).toBe(false);
});

test('a server of the same or an earlier version, or one that says something else, is not mentioned', async () => {
  const home = await signedIn();
  for (version of [manifest.version, '0.0.9', '9.8.7-rc.1', 'newest', '9.8.7 and more'])
    expect((await inTerminal(home, ['whoami'])).screen).not.toMatch(notice);
  version = '9.8.7';
  expect((await inTerminal(home, ['whoami'])).screen).toMatch(notice);
});

test('a command that fails, or cannot remember the notice, works as without it', async () => {
  const home = await signedIn();
  const failed = await inTerminal(home, ['sessions', 'revoke', 'ses_AAAAAAAAAAAAAAAAAAAAAA']);
  expect([failed.code, notice.test(failed.screen)]).toEqual([1, false]);
  // Not a directory, so that the test also means something to root.
  await Bun.write(join(home.path, '.local/state'), '');
  chmodSync(join(home.path, '.local/state'), 0o400);
  const unwritable = await inTerminal(home, ['whoami']);
  expect(unwritable).toEqual({ code: 0, screen: `ada <ada@example.com> at ${front.url.origin}\r\n` });
  const state = join(home.path, 'state');
  mkdirSync(state);
  expect((await inTerminal(home, ['whoami'], { XDG_STATE_HOME: state })).screen).toMatch(notice);
  expect(existsSync(join(state, 'latchkey/update-notice'))).toBe(true);
});
