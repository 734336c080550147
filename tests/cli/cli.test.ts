// What the command line promises beyond what its transcripts show: what it sends and to whom, how it behaves in
// strange places, and its completions in real shells.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { decide, type Home, latchkey, newHome, program, runIn, storeLogin, storeOf } from '../support/cli.ts';
import { loginByMail, request } from '../support/http.ts';
import { hasSecretService, startSecretService } from '../support/secret-service.ts';
import { startService, type TestService, temporaryDirectory } from '../support/service.ts';
import { withoutRootsPowers } from '../support/worker.ts';

let service: TestService;

beforeAll(async () => {
  service = await startService({ env: { LATCHKEY_DEVICE_POLL_INTERVAL: '1', LATCHKEY_RATE_LIMITS: 'off' } });
});

afterAll(async () => {
  await service.stop();
});

const codeIn = (text: string) => /^[A-Z]{4}-[A-Z]{4}$/m.exec(text)?.[0];

/** Logs in with the program, `email` approving. */
async function login(home: Home, email: string, ...args: string[]) {
  let decided: Promise<void> | undefined;
  const outcome = await runIn(home, [program, 'login', ...args], (stderr) => {
    const code = codeIn(stderr);
    if (code) decided ??= decide(service.url, code, email);
  });
  await decided;
  return outcome;
}

/** Puts into the directory that commands are run in what Bun would take from there. */
function makeHostile(home: Home, server: string): void {
  writeFileSync(join(home.path, '.env'), `LATCHKEY_SERVER=${server}\n`);
  writeFileSync(join(home.path, 'bunfig.toml'), 'preload = ["./evil.ts"]\n');
  const compilerOptions = { paths: { '*': [join(home.path, 'evil.ts')] } };
  writeFileSync(join(home.path, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
  writeFileSync(join(home.path, 'evil.ts'), 'console.log("evil");\n');
}

/** Listens and counts, and answers like the service or not at all. */
function listener(answer: (request: Request) => Response | Promise<Response>) {
  const heard: { url: URL; host: string | null }[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request) => {
      heard.push({ url: new URL(request.url), host: request.headers.get('host') });
      return answer(request);
    },
  });
  return { url: `http://127.0.0.1:${server.port}`, heard, stop: () => server.stop(true) };
}

describe('a token', () => {
  test('that is good is printed without a call to anybody', async () => {
    const counting = listener(() => new Response(null, { status: 503 }));
    const home = newHome({ LATCHKEY_SERVER: counting.url, HTTP_PROXY: counting.url });
    await storeLogin(home, service.url, 'ada@example.com', counting.url);
    const stored = await storeOf(home, counting.url).read();
    const { code, stdout, stderr } = await latchkey(home, 'token');
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: `${stored?.access_token}\n`, stderr: '' });
    expect(counting.heard).toEqual([]);
    expect((await latchkey(home, 'whoami')).code).toBe(4);
    expect(counting.heard.length).toBeGreaterThan(0);
    await counting.stop();
  });

  test('is printed by twenty at once who find it run out, all the same one, and nobody is logged out', async () => {
    const home = newHome({ LATCHKEY_SERVER: service.url });
    await storeLogin(home, service.url, 'many@example.com');
    const store = storeOf(home, service.url);
    const login = await store.read();
    await store.put({ ...login!, access_token_expires_at: 1 });
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => latchkey(home, 'token')));
    expect(outcomes.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
      Array.from({ length: 20 }, () => ({ code: 0, stderr: '' })),
    );
    expect(new Set(outcomes.map(({ stdout }) => stdout)).size).toBe(1);
    expect(outcomes[0]?.stdout).not.toBe(`${login?.access_token}\n`);
    expect(service.logs().filter((line) => /theft/.test(line))).toEqual([]);
  });
});

test('a second login ends the first one at the server, once it is kept itself', async () => {
  const home = newHome({ LATCHKEY_SERVER: service.url });
  expect((await login(home, 'twice@example.com')).code).toBe(0);
  const first = await storeOf(home, service.url).read();
  expect((await login(home, 'twice@example.com')).code).toBe(0);
  const second = await storeOf(home, service.url).read();
  const me = async (token = '') => (await request(service.url, 'GET', '/me', { token })).status;
  expect(await me(first?.access_token)).toBe(401);
  expect(await me(second?.access_token)).toBe(200);
  expect(second?.user.email).toBe('twice@example.com');
});

test('a login that is not approved leaves the one that was there', async () => {
  const home = newHome({ LATCHKEY_SERVER: service.url });
  await storeLogin(home, service.url, 'stays@example.com');
  const { access_token: token } = await loginByMail(service.url, 'stays@example.com');
  let denied: Promise<unknown> | undefined;
  const { code } = await runIn(home, [program, 'login'], (stderr) => {
    const user_code = codeIn(stderr);
    if (user_code) denied ??= request(service.url, 'POST', '/device/deny', { json: { user_code }, token });
  });
  await denied;
  expect(code).toBe(1);
  expect((await latchkey(home, 'whoami')).stdout).toContain('stays@example.com');
});

test('a login that cannot be kept after all is ended at the server, and the former one stays', async () => {
  const home = newHome({ LATCHKEY_SERVER: service.url });
  await storeLogin(home, service.url, 'unkept@example.com');
  const before = await storeOf(home, service.url).read();
  let decided: Promise<void> | undefined;
  const { code, stderr } = await runIn(home, [...withoutRootsPowers, program, 'login'], (text) => {
    const userCode = codeIn(text);
    if (!userCode || decided) return;
    chmodSync(dirname(home.credentialsFile), 0o500);
    decided = decide(service.url, userCode, 'unkept@example.com');
  });
  await decided;
  chmodSync(dirname(home.credentialsFile), 0o700);
  expect(code).toBe(4);
  expect(stderr).toContain('permission is denied');
  expect(await storeOf(home, service.url).read()).toEqual(before);
  const { sessions } = JSON.parse((await latchkey(home, 'sessions', '--json')).stdout);
  const devices = sessions.filter(({ kind }: { kind: string }) => kind === 'device');
  expect(devices).toEqual([expect.objectContaining({ current: true })]);
});

test('a login is kept even if the server cannot be asked whose it is', async () => {
  const shaky = listener(async (asked) => {
    const { pathname } = new URL(asked.url);
    if (pathname.endsWith('/me')) return new Response(null, { status: 503 });
    const body = asked.method === 'POST' ? await asked.text() : null;
    return fetch(service.url + pathname, { method: asked.method, headers: asked.headers, body });
  });
  const home = newHome({ LATCHKEY_SERVER: shaky.url });
  const { code, stdout, stderr } = await login(home, 'shaky@example.com');
  await shaky.stop();
  expect({ code, stdout }).toEqual({ code: 0, stdout: `Logged in to ${shaky.url}.\n` });
  expect(stderr).toContain('Ask again with `latchkey whoami`.');
  const token = (await latchkey(home, 'token')).stdout.trim();
  expect((await request(service.url, 'GET', '/me', { token })).body.email).toBe('shaky@example.com');
});

describe("a server's own words", () => {
  test('cannot move the cursor, colour the terminal or turn a line around', async () => {
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
    await hostile.stop();
  });

  test('open nothing but web pages', async () => {
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
    await hostile.stop();
  });

  test('do not name what every object has', async () => {
    const hostile = listener(() =>
      Response.json(
        { error: 'constructor', error_description: 'No.', request_id: 'x' },
        { status: 400, headers: { 'X-Request-Id': 'x' } },
      ),
    );
    const { stderr } = await latchkey(newHome({ LATCHKEY_SERVER: hostile.url }), 'login');
    expect(stderr).toStartWith('latchkey: No.\n');
    await hostile.stop();
  });

  test('cost no other login, however little they make sense', async () => {
    const home = newHome();
    await storeLogin(home, service.url, 'beside@example.com');
    const headers = { 'X-Request-Id': 'x' };
    const hostile = listener(({ url }) => {
      const token = { access_token: 'a', refresh_token: 'r', token_type: 'Bearer', expires_in: 60 };
      if (url.endsWith('/token')) return Response.json(token, { headers });
      if (url.endsWith('/me')) return Response.json({ id: null }, { headers });
      const verification_uri = new URL('/device', url).href;
      const codes = { device_code: 'd', user_code: 'c', verification_uri, expires_in: 60, interval: 0.1 };
      return Response.json({ ...codes, verification_uri_complete: verification_uri }, { headers });
    });
    const login = await latchkey(home, 'login', '--no-browser', '--server', hostile.url);
    expect({ code: login.code, stdout: login.stdout }).toEqual({
      code: 0,
      stdout: `Logged in to ${hostile.url}.\n`,
    });
    expect((await latchkey(home, 'token', '--server', service.url)).code).toBe(0);
    await hostile.stop();
  });
});

test('nothing in the directory it is run in changes what it does: no .env, bunfig.toml or tsconfig.json', async () => {
  const home = newHome();
  const counting = listener(() => new Response());
  makeHostile(home, counting.url);
  const { code, stdout, stderr } = await latchkey(home, 'whoami');
  expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
  expect(stderr).not.toContain(counting.url);
  expect(counting.heard).toEqual([]);
  await counting.stop();
});

test('a proxy carries the requests that may go by plain http, except to those that NO_PROXY names', async () => {
  const proxy = listener((request) => {
    const { pathname } = new URL(request.url);
    return fetch(service.url + pathname, { headers: request.headers });
  });
  const address = 'http://latchkey.invalid';
  const home = newHome({ HTTP_PROXY: proxy.url, LATCHKEY_SERVER: address });
  await storeLogin(home, service.url, 'proxied@example.com', address);
  const refused = await latchkey(home, 'whoami');
  expect([refused.code, refused.stdout, proxy.heard]).toEqual([2, '', []]);
  const through = await latchkey(home, 'whoami', '--insecure-http');
  expect(through.stdout).toContain('proxied@example.com');
  expect(proxy.heard).toHaveLength(1);
  expect(proxy.heard[0]?.host).toBe('latchkey.invalid');
  const around = await runIn({ ...home, env: { ...home.env, NO_PROXY: 'latchkey.invalid' } }, [
    program,
    'whoami',
    '--insecure-http',
  ]);
  expect(around.code).toBe(4);
  expect(proxy.heard).toHaveLength(1);
  await proxy.stop();
});

test('a long result reaches a slow reader whole', async () => {
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
  expect(long.heard[1]?.url.searchParams.get('cursor')).toBe('1');
  await long.stop();
});

describe('the places of credentials', () => {
  test.skipIf(process.platform !== 'linux')('are a file where no keychain answers', async () => {
    const home = newHome({ LATCHKEY_SERVER: service.url });
    const env = { ...home.env, LATCHKEY_CREDENTIALS: '', XDG_RUNTIME_DIR: home.path };
    const { stdout } = await runIn({ ...home, env }, [program, 'doctor', '--json']);
    expect(JSON.parse(stdout).credentials).toMatchObject({
      kind: 'file',
      path: home.credentialsFile,
      why: expect.stringContaining('the keychain cannot be used'),
    });
  });

  test.skipIf(process.platform !== 'linux')('are no file where the keychain is demanded', async () => {
    const home = newHome({ LATCHKEY_SERVER: service.url, LATCHKEY_CREDENTIALS: 'keychain' });
    const { code, stderr } = await latchkey(home, 'login');
    expect(code).toBe(4);
    expect(stderr).toContain('keychain');
    expect(existsSync(home.credentialsFile)).toBe(false);
  });
});

describe('completion', () => {
  const bash = (home: Home, line: string) =>
    runIn(home, [
      'bash',
      '-c',
      `source <(latchkey completion bash)
       COMP_WORDS=(${line}) COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
       _latchkey; printf '%s\\n' "\${COMPREPLY[@]}"`,
    ]);
  const cases: [string, string[]][] = [
    ['latchkey log', ['login', 'logout']],
    [
      "latchkey login ''",
      ['--no-browser', '--device-name', '--server', '--insecure-http', '--json', '--help'],
    ],
    ['latchkey --server https://login.example sessions r', ['revoke']],
    ['latchkey sessions revoke --j', ['--json']],
    ["latchkey completion ''", ['bash', 'zsh', 'fish', '--server', '--insecure-http', '--json', '--help']],
    ['latchkey profile set --t', ['--time-zone']],
    ["latchkey login --server ''", ['']],
    ['latchkey --server login whoa', ['whoami']],
  ];
  for (const [line, words] of cases) {
    test(`bash: ${line}`, async () => {
      const { stdout, stderr } = await bash(newHome(), line);
      expect(stderr).toBe('');
      expect(stdout.trimEnd().split('\n')).toEqual(words);
    });
  }

  test.skipIf(!Bun.which('zsh'))('zsh takes the script, and completes by it', async () => {
    const home = newHome();
    const script = `autoload -Uz compinit && compinit -u; source <(latchkey completion zsh)
      compadd() { :; }; _describe() { print -l -- \${(P)2}; }
      words=(latchkey sessions '') CURRENT=3; _latchkey`;
    const { stdout, stderr } = await runIn(home, ['zsh', '-f', '-c', script]);
    expect(stderr).toBe('');
    expect(stdout).toContain('revoke:end one of your logins');
  });

  test.skipIf(!Bun.which('fish'))('fish takes the script, and completes by it', async () => {
    const home = newHome();
    const script = `latchkey completion fish | source; complete -C 'latchkey sessions '; complete -C 'latchkey log'`;
    const { stdout, stderr } = await runIn(home, ['fish', '-N', '-c', script]);
    expect(stderr).toBe('');
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => line.split('\t')[0]),
    ).toEqual(['revoke', 'login', 'logout']);
  });
});

describe('a single executable', () => {
  let file: string;

  beforeAll(async () => {
    file = join(temporaryDirectory(), 'latchkey');
    const build = join(import.meta.dir, '../../packages/cli/build.ts');
    expect(await runIn(newHome(), [process.execPath, build, file])).toMatchObject({ code: 0 });
  });

  test('does the same with nothing beside it, and nothing around it changes that', async () => {
    const home = newHome({ LATCHKEY_SERVER: service.url, PATH: '/usr/bin:/bin' });
    await storeLogin(home, service.url, 'single@example.com');
    makeHostile(home, 'http://127.0.0.1:1');
    const token = await runIn(home, [file, 'token']);
    expect(token).toMatchObject({ code: 0, stderr: '' });
    expect(token.stdout).toBe(`${(await storeOf(home, service.url).read())?.access_token}\n`);
    expect((await runIn(home, [file, 'whoami'])).stdout).toContain('single@example.com');
    expect((await runIn(home, [file, 'completion', 'bash'])).stdout).toContain('complete -F _latchkey');
    expect((await runIn(home, [file, 'frobnicate'])).code).toBe(2);
    const unset = { ...home, env: { ...home.env, LATCHKEY_SERVER: '' } };
    expect((await runIn(unset, [file, 'whoami'])).stdout).toContain('single@example.com');
  });

  test.skipIf(!hasSecretService)('and the program keep logins in the keychain, the same ones', async () => {
    const keychain = await startSecretService(join(temporaryDirectory(), 'keyring'), 'password');
    const home = newHome({
      LATCHKEY_SERVER: service.url,
      LATCHKEY_CREDENTIALS: '',
      DBUS_SESSION_BUS_ADDRESS: keychain.address,
    });
    expect((await login(home, 'keychain@example.com')).code).toBe(0);
    expect(existsSync(home.credentialsFile)).toBe(false);
    expect((await latchkey(home, 'whoami')).stdout).toContain('keychain@example.com');
    expect((await runIn(home, [file, 'whoami'])).stdout).toContain('keychain@example.com');
    const { stdout } = await runIn(home, [file, 'doctor', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ credentials: { kind: 'keychain' }, problems: [] });
    expect((await runIn(home, [file, 'logout'])).code).toBe(0);
    expect((await latchkey(home, 'token')).code).toBe(3);
    await keychain.stop();
  });
});
