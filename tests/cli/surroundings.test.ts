// What the command line sends and to whom, and that hostile servers and directories do no harm.

import { describe, expect, test } from 'bun:test';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  expireAccessToken,
  latchkey,
  latchkeyProcess,
  listener,
  makeHostile,
  newHome,
  program,
  runIn,
  storeLogin,
  storeOf,
} from '../support/cli.ts';
import { loginByMail } from '../support/http.ts';
import { startService } from '../support/service.ts';
import { shared } from '../support/shared.ts';

const service = shared(() =>
  startService({ env: { LATCHKEY_DEVICE_POLL_INTERVAL: '1', LATCHKEY_RATE_LIMITS: 'off' } }),
);

describe('latchkey token', () => {
  test('prints a valid token without sending a request', async () => {
    const counting = listener(() => new Response(null, { status: 503 }));
    const home = newHome({ LATCHKEY_SERVER: counting.url, HTTP_PROXY: counting.url });
    await storeLogin(home, service.url, 'ada@example.com', counting.url);
    const stored = await storeOf(home, counting.url).read();
    const { code, stdout, stderr } = await latchkeyProcess(home, 'token');
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: `${stored?.access_token}\n`, stderr: '' });
    expect(counting.received).toEqual([]);
    expect((await latchkeyProcess(home, 'whoami')).code).toBe(4);
    expect(counting.received.length).toBeGreaterThan(0);
  });

  test('run twenty times at once with an expired token prints the same new token, and the session stays', async () => {
    const home = newHome({ LATCHKEY_SERVER: service.url });
    await storeLogin(home, service.url, 'many@example.com');
    const store = storeOf(home, service.url);
    const stored = await store.read();
    await expireAccessToken(home, service.url);
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => latchkeyProcess(home, 'token')));
    expect(outcomes.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
      Array.from({ length: 20 }, () => ({ code: 0, stderr: '' })),
    );
    expect(new Set(outcomes.map(({ stdout }) => stdout)).size).toBe(1);
    expect(outcomes[0]?.stdout).not.toBe(`${stored?.access_token}\n`);
    expect(service.logs().filter((line) => /theft/.test(line))).toEqual([]);
  });
});

describe('a hostile server', () => {
  test('cannot move the cursor, colour the terminal or reverse a line', async () => {
    const evil = 'BC\u001b[2J\u202eDF\u009b31m';
    const hostile = listener(() =>
      Response.json(
        { error: 'invalid_request', error_description: evil, request_id: 'x' },
        { status: 400, headers: { 'X-Request-Id': 'x' } },
      ),
    );
    const home = newHome({ LATCHKEY_SERVER: hostile.url });
    for (const args of [['login'], ['login', '--json']]) {
      const { stdout, stderr } = await latchkey(home, ...args);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: that there are none is the point
      expect(stdout + stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
      expect(stderr).toContain('BC');
    }
  });

  test('cannot make login open anything but a web page', async () => {
    const hostile = listener(() =>
      Response.json(
        {
          device_code: 'lk_dc_x',
          user_code: 'BCDF-GHJK',
          verification_uri: 'file:///etc/passwd',
          verification_uri_complete: 'file:///etc/passwd',
          expires_in: 600,
          interval: 1,
        },
        { headers: { 'X-Request-Id': 'x' } },
      ),
    );
    const home = newHome({ LATCHKEY_SERVER: hostile.url, DISPLAY: ':99' });
    const { code, stderr } = await latchkey(home, 'login');
    expect(code).toBe(1);
    expect(stderr).not.toContain('passwd');
  });

  test('can send an error code that is the name of an object property', async () => {
    const hostile = listener(() =>
      Response.json(
        { error: 'constructor', error_description: 'No.', request_id: 'x' },
        { status: 400, headers: { 'X-Request-Id': 'x' } },
      ),
    );
    const { stderr } = await latchkey(newHome({ LATCHKEY_SERVER: hostile.url }), 'login');
    expect(stderr).toStartWith('latchkey: No.\n');
  });

  test.each<[string, object]>([
    ['no user', { id: null }],
    ['a user of 900,000 characters', { id: 'usr_1', email: 'a'.repeat(900_000) }],
  ])('cannot fill or damage the credentials with %s', async (_, user) => {
    const home = newHome();
    await storeLogin(home, service.url, 'beside@example.com');
    const headers = { 'X-Request-Id': 'x' };
    const hostile = listener(({ url }) => {
      const token = {
        access_token: 'a',
        refresh_token: 'r',
        token_type: 'Bearer',
        expires_in: 60,
      };
      if (url.endsWith('/token')) return Response.json(token, { headers });
      if (url.endsWith('/me')) return Response.json(user, { headers });
      const verification_uri = new URL('/device', url).href;
      const codes = { device_code: 'd', user_code: 'c', verification_uri, expires_in: 60, interval: 0.1 };
      return Response.json({ ...codes, verification_uri_complete: verification_uri }, { headers });
    });
    const login = await latchkey(home, 'login', '--no-browser', '--server', hostile.url);
    expect([login.code, login.stdout]).toEqual([0, `Signed in to ${hostile.url}.\n`]);
    expect(statSync(home.credentialsFile).size).toBeLessThan(4_096);
    expect((await latchkey(home, 'token', '--server', service.url)).code).toBe(0);
  });

  test('cannot pass for a Latchkey server with `doctor` by answering everything', async () => {
    const hostile = listener(() => Response.json({}, { headers: { 'X-Request-Id': 'r' } }));
    const { code, stdout } = await latchkey(newHome(), 'doctor', '--json', '--server', hostile.url);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      server: { reachable: false },
      problems: [{ error: 'not_latchkey' }],
    });
  });

  test('cannot fill the terminal', async () => {
    const long = 'x'.repeat(1_000_000);
    const me = { id: 'usr_1', name: long, email: long, created_at: long };
    const sessions = [
      { ...me, kind: 'device', method: long, client_name: null, device_name: null, last_used_at: long },
    ];
    const refusal = { error: 'invalid_request', error_description: long, request_id: long };
    const headers = { 'X-Request-Id': 'x' };
    const hostile = listener(({ url }) => {
      if (url.endsWith('/me')) return Response.json(me, { headers });
      if (url.includes('/sessions')) return Response.json({ sessions, next_cursor: null }, { headers });
      return Response.json(refusal, { status: 400, headers });
    });
    const home = newHome({ LATCHKEY_SERVER: hostile.url });
    await storeLogin(home, service.url, 'long@example.com', hostile.url);
    for (const command of ['whoami', 'profile', 'sessions', 'status', 'organizations']) {
      const { stdout, stderr } = await latchkey(home, command);
      expect([command, stdout.length + stderr.length < 50_000]).toEqual([command, true]);
    }
  });
});

test('neither .env nor any code in the current directory has any effect', async () => {
  const home = newHome();
  const counting = listener(() => new Response());
  makeHostile(home, counting.url);
  const { code, stdout, stderr } = await latchkeyProcess(home, 'whoami');
  expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
  expect(stderr).not.toContain(counting.url);
  expect(counting.received).toEqual([]);
  expect(existsSync(join(home.path, 'ran'))).toBe(false);
});

test('white space around settings does not count: a secret from a file often ends in a line break', async () => {
  const home = newHome();
  await storeLogin(home, service.url, 'spaces@example.com');
  const token = (await latchkey(home, 'token', '--server', service.url)).stdout;
  const env = { ...home.env, LATCHKEY_TOKEN: `\ufeff${token}\r\n`, LATCHKEY_SERVER: ` ${service.url}\n` };
  const { code, stdout } = await runIn({ ...home, env }, [program, 'whoami']);
  expect([code, stdout]).toEqual([0, expect.stringContaining('spaces@example.com')]);
});

test.skipIf(process.getuid?.() !== 0)(
  'without a home directory everything works that needs no login stored',
  async () => {
    const { env } = newHome({ LATCHKEY_SERVER: service.url });
    const { HOME: _, ...homeless } = env;
    const stranger = ['setpriv', '--reuid=54321', '--regid=54321', '--clear-groups', program];
    const home = { path: '/', credentialsFile: '', env: homeless };
    const run = (extra: Record<string, string>, ...args: string[]) =>
      runIn({ ...home, env: { ...homeless, ...extra } }, [...stranger, ...args]);
    expect((await run({}, '--version')).code).toBe(0);
    expect((await run({}, 'help', 'login')).code).toBe(0);
    const { access_token } = await loginByMail(service.url, 'homeless@example.com');
    const whoami = await run({ LATCHKEY_TOKEN: access_token }, 'whoami');
    expect([whoami.code, whoami.stdout]).toEqual([0, expect.stringContaining('homeless@example.com')]);
    expect((await run({ LATCHKEY_TOKEN: access_token }, 'doctor')).code).toBe(0);
    const job = { LATCHKEY_SERVER: '', LATCHKEY_ID_TOKEN: 'not.a.token' };
    // Whatever listens at the default address, or nothing: it is asked.
    expect((await run(job, 'token', '--federated', 'key_1')).stderr).not.toContain('no home directory');
    for (const LATCHKEY_CREDENTIALS of ['file', 'keychain', ''])
      for (const command of ['login', 'whoami', 'doctor']) {
        const { code, stderr } = await run({ LATCHKEY_CREDENTIALS }, command);
        expect([code, stderr]).toEqual([2, expect.stringMatching(/^latchkey: There is no home directory/)]);
      }
    const elsewhere = { XDG_CONFIG_HOME: '/dev/null/config' };
    expect((await run(elsewhere, 'whoami')).stderr).not.toContain('home directory');
  },
);

test('a proxy receives requests only with --insecure-http, and none for hosts in NO_PROXY', async () => {
  const proxy = listener((request) => {
    const { pathname } = new URL(request.url);
    return fetch(service.url + pathname, { headers: request.headers });
  });
  const address = 'http://latchkey.invalid';
  const home = newHome({ HTTP_PROXY: proxy.url, LATCHKEY_SERVER: address });
  await storeLogin(home, service.url, 'proxied@example.com', address);
  const refused = await latchkeyProcess(home, 'whoami');
  expect([refused.code, refused.stdout, proxy.received]).toEqual([2, '', []]);
  const through = await latchkeyProcess(home, 'whoami', '--insecure-http');
  expect(through.stdout).toContain('proxied@example.com');
  expect(proxy.received).toHaveLength(1);
  expect(proxy.received[0]?.host).toBe('latchkey.invalid');
  const around = await runIn({ ...home, env: { ...home.env, NO_PROXY: 'latchkey.invalid' } }, [
    program,
    'whoami',
    '--insecure-http',
  ]);
  expect(around.code).toBe(4);
  expect(proxy.received).toHaveLength(1);
});

test('a proxy setting without a scheme, which the runtime would ignore, is refused before anything is sent', async () => {
  for (const name of ['HTTP_PROXY', 'https_proxy', 'ALL_PROXY']) {
    const home = newHome({ [name]: 'proxy.example:8080', LATCHKEY_TOKEN: 'lk_at_unknown' });
    const { code, stderr } = await latchkey(home, 'whoami', '--server', 'https://login.invalid');
    expect([code, stderr]).toEqual([2, expect.stringContaining(`${name} has no scheme.`)]);
    expect((await latchkey(home, 'whoami', '--server', service.url)).code).toBe(3);
  }
});

test('a long result reaches a slow reader completely', async () => {
  const sessions = Array.from({ length: 100 }, (_, at) => ({
    id: `ses_${at}`,
    kind: 'device',
    method: 'device_code',
    client_name: 'x'.repeat(100),
    device_name: 'y'.repeat(100),
    ip_address: null,
    user_agent: 'z'.repeat(300),
    created_at: '2026-01-01T00:00:00.000Z',
    last_used_at: '2026-01-01T00:00:00.000Z',
    current: false,
  }));
  let page = 0;
  const long = listener(() =>
    Response.json(
      { sessions, next_cursor: ++page < 8 ? String(page) : null },
      { headers: { 'X-Request-Id': 'x' } },
    ),
  );
  const home = newHome({ LATCHKEY_SERVER: long.url });
  await storeLogin(home, service.url, 'long@example.com', long.url);
  const { code, stdout } = await runIn(home, ['bash', '-c', 'latchkey sessions --json | (sleep 0.5; cat)']);
  expect(code).toBe(0);
  expect(JSON.parse(stdout).sessions).toHaveLength(800);
  expect(long.received[1]?.url.searchParams.get('cursor')).toBe('1');
});
