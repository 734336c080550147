// Guarantees of the command line that its transcripts cannot show: what it sends and to whom, what Ctrl-C leaves behind,
// how it behaves in hostile directories, and its completions in real shells.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { spawn } from 'bun';
import { endAtExit, hasEnded } from '../support/cleanup.ts';
import {
  decide,
  expireAccessToken,
  type Home,
  latchkey,
  newHome,
  program,
  runIn,
  storeLogin,
  storeOf,
} from '../support/cli.ts';
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

/** Runs `latchkey login`, approved by `email`. */
async function login(home: Home, email: string, ...args: string[]) {
  let decided: Promise<void> | undefined;
  const outcome = await runIn(home, [program, 'login', ...args], (stderr) => {
    const code = codeIn(stderr);
    if (code) decided ??= decide(service.url, code, email);
  });
  await decided;
  return outcome;
}

/** Fills the current directory of commands with files that Bun would load. */
function makeHostile(home: Home, server: string): void {
  writeFileSync(join(home.path, '.env'), `LATCHKEY_SERVER=${server}\n`);
  writeFileSync(join(home.path, 'bunfig.toml'), 'preload = ["./evil.ts"]\n');
  const compilerOptions = { paths: { '*': [join(home.path, 'evil.ts')] } };
  writeFileSync(join(home.path, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
  writeFileSync(join(home.path, 'evil.ts'), 'console.log("evil");\n');
}

/** A server that records its requests. */
function listener(respond: (request: Request) => Response | Promise<Response>) {
  const received: { url: URL; host: string | null }[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request) => {
      received.push({ url: new URL(request.url), host: request.headers.get('host') });
      return respond(request);
    },
  });
  return { url: `http://127.0.0.1:${server.port}`, received, stop: () => server.stop(true) };
}

describe('latchkey token', () => {
  test('prints a valid token without sending a request', async () => {
    const counting = listener(() => new Response(null, { status: 503 }));
    const home = newHome({ LATCHKEY_SERVER: counting.url, HTTP_PROXY: counting.url });
    await storeLogin(home, service.url, 'ada@example.com', counting.url);
    const stored = await storeOf(home, counting.url).read();
    const { code, stdout, stderr } = await latchkey(home, 'token');
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: `${stored?.access_token}\n`, stderr: '' });
    expect(counting.received).toEqual([]);
    expect((await latchkey(home, 'whoami')).code).toBe(4);
    expect(counting.received.length).toBeGreaterThan(0);
    await counting.stop();
  });

  test('run twenty times at once with an expired token prints the same new token, and the session stays', async () => {
    const home = newHome({ LATCHKEY_SERVER: service.url });
    await storeLogin(home, service.url, 'many@example.com');
    const store = storeOf(home, service.url);
    const stored = await store.read();
    await store.put({ ...stored!, access_token_expires_at: 1 });
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => latchkey(home, 'token')));
    expect(outcomes.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
      Array.from({ length: 20 }, () => ({ code: 0, stderr: '' })),
    );
    expect(new Set(outcomes.map(({ stdout }) => stdout)).size).toBe(1);
    expect(outcomes[0]?.stdout).not.toBe(`${stored?.access_token}\n`);
    expect(service.logs().filter((line) => /theft/.test(line))).toEqual([]);
  });
});

test('a second login ends the first session at the server once its own is stored', async () => {
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

test('a login that is denied leaves the existing session', async () => {
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

test('a session that cannot be stored is ended at the server, and the former one stays', async () => {
  const home = newHome({ LATCHKEY_SERVER: service.url });
  await storeLogin(home, service.url, 'unstored@example.com');
  const before = await storeOf(home, service.url).read();
  let decided: Promise<void> | undefined;
  const { code, stderr } = await runIn(home, [...withoutRootsPowers, program, 'login'], (text) => {
    const userCode = codeIn(text);
    if (!userCode || decided) return;
    chmodSync(dirname(home.credentialsFile), 0o500);
    decided = decide(service.url, userCode, 'unstored@example.com');
  });
  await decided;
  chmodSync(dirname(home.credentialsFile), 0o700);
  expect(code).toBe(4);
  expect(stderr).toContain('permission denied');
  expect(await storeOf(home, service.url).read()).toEqual(before);
  const { sessions } = JSON.parse((await latchkey(home, 'sessions', '--json')).stdout);
  const devices = sessions.filter(({ kind }: { kind: string }) => kind === 'device');
  expect(devices).toEqual([expect.objectContaining({ current: true })]);
});

test('a login succeeds even if the server does not say who signed in', async () => {
  const shaky = listener(async (asked) => {
    const { pathname } = new URL(asked.url);
    if (pathname.endsWith('/me')) return new Response(null, { status: 503 });
    const body = asked.method === 'POST' ? await asked.text() : null;
    return fetch(service.url + pathname, { method: asked.method, headers: asked.headers, body });
  });
  const home = newHome({ LATCHKEY_SERVER: shaky.url });
  const { code, stdout, stderr } = await login(home, 'shaky@example.com');
  await shaky.stop();
  expect({ code, stdout }).toEqual({ code: 0, stdout: `Signed in to ${shaky.url}.\n` });
  expect(stderr).toContain('Run `latchkey whoami` to ask again.');
  const token = (await latchkey(home, 'token')).stdout.trim();
  expect((await request(service.url, 'GET', '/me', { token })).body.email).toBe('shaky@example.com');
});

describe('Ctrl-C', () => {
  /** A proxy to the service that interrupts the running command when a response of `path` is due, and holds that. */
  function interrupter(path: string, holdMilliseconds: number) {
    let child: ReturnType<typeof spawn> | undefined;
    const proxy = listener(async (request) => {
      const { pathname, search } = new URL(request.url);
      const body = request.method === 'GET' ? null : await request.text();
      const { method, headers } = request;
      const response = await fetch(service.url + pathname + search, { method, headers, body });
      if (child && response.ok && pathname.endsWith(path)) {
        child.kill('SIGINT');
        await Bun.sleep(holdMilliseconds);
      }
      return response;
    });
    return {
      ...proxy,
      run: async (home: Home, args: string[], email?: string) => {
        const options = { cwd: home.path, env: home.env, stdout: 'ignore', stderr: 'pipe' } as const;
        const running = spawn([program, ...args], options);
        child = running;
        endAtExit(running.pid);
        let stderr = '';
        let decided: Promise<void> | undefined;
        for await (const chunk of running.stderr) {
          stderr += new TextDecoder().decode(chunk);
          const code = codeIn(stderr);
          if (code && email) decided ??= decide(service.url, code, email);
        }
        await decided;
        const code = await running.exited;
        hasEnded(running.pid);
        child = undefined;
        return { code, stderr };
      },
    };
  }

  async function deviceSessions(email: string): Promise<unknown[]> {
    const { access_token: token } = await loginByMail(service.url, email);
    const { body } = await request(service.url, 'GET', '/sessions', { token });
    return body.sessions.filter(({ kind }: { kind: string }) => kind === 'device');
  }

  test('in a login whose tokens are on their way ends the new session', async () => {
    const proxy = interrupter('/token', 300);
    const home = newHome({ LATCHKEY_SERVER: proxy.url });
    const { code, stderr } = await proxy.run(home, ['login'], 'interrupted@example.com');
    expect(code).toBe(130);
    expect(stderr).toEndWith(
      'latchkey: Login cancelled. You had already approved it, and the new session has been ended.\n',
    );
    expect(await deviceSessions('interrupted@example.com')).toEqual([]);
    expect(await storeOf(home, proxy.url).read()).toBeNull();
    await proxy.stop();
  });

  test('in a login whose last poll gets no response says that a session may exist', async () => {
    const proxy = interrupter('/token', 8000);
    const home = newHome({ LATCHKEY_SERVER: proxy.url });
    const started = performance.now();
    const { code, stderr } = await proxy.run(home, ['login'], 'unanswered@example.com');
    expect(code).toBe(130);
    expect(stderr).toEndWith(
      'latchkey: Login cancelled. If you had already approved it, the new session may exist: see `latchkey sessions`.\n',
    );
    expect(performance.now() - started).toBeLessThan(8000);
    expect(await deviceSessions('unanswered@example.com')).toHaveLength(1);
    await proxy.stop();
  });

  test('during a refresh says so, and the next command completes the refresh', async () => {
    const proxy = interrupter('/refresh', 1000);
    const home = newHome({ LATCHKEY_SERVER: proxy.url });
    await storeLogin(home, service.url, 'refreshing@example.com', proxy.url);
    await expireAccessToken(home, proxy.url);
    const { code, stderr } = await proxy.run(home, ['token']);
    expect(code).toBe(130);
    expect(stderr).toBe(
      'latchkey: Cancelled while your session was being refreshed. A later command completes that; after 10 minutes, you may have to sign in again.\n',
    );
    expect((await latchkey(home, 'whoami')).stdout).toContain('refreshing@example.com');
    await proxy.stop();
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
    await hostile.stop();
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
    await hostile.stop();
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
    await hostile.stop();
  });

  test('cannot damage the credentials of other servers with senseless responses', async () => {
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
      stdout: `Signed in to ${hostile.url}.\n`,
    });
    expect((await latchkey(home, 'token', '--server', service.url)).code).toBe(0);
    await hostile.stop();
  });
});

test('no .env, bunfig.toml or tsconfig.json in the current directory has any effect', async () => {
  const home = newHome();
  const counting = listener(() => new Response());
  makeHostile(home, counting.url);
  const { code, stdout, stderr } = await latchkey(home, 'whoami');
  expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
  expect(stderr).not.toContain(counting.url);
  expect(counting.received).toEqual([]);
  await counting.stop();
});

test('a proxy receives requests only with --insecure-http, and none for hosts in NO_PROXY', async () => {
  const proxy = listener((request) => {
    const { pathname } = new URL(request.url);
    return fetch(service.url + pathname, { headers: request.headers });
  });
  const address = 'http://latchkey.invalid';
  const home = newHome({ HTTP_PROXY: proxy.url, LATCHKEY_SERVER: address });
  await storeLogin(home, service.url, 'proxied@example.com', address);
  const refused = await latchkey(home, 'whoami');
  expect([refused.code, refused.stdout, proxy.received]).toEqual([2, '', []]);
  const through = await latchkey(home, 'whoami', '--insecure-http');
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
  await proxy.stop();
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
  await long.stop();
});

describe('credentials', () => {
  test.skipIf(process.platform !== 'linux')('are stored in a file if no keychain responds', async () => {
    const home = newHome({ LATCHKEY_SERVER: service.url });
    const env = { ...home.env, LATCHKEY_CREDENTIALS: '', XDG_RUNTIME_DIR: home.path };
    const { stdout } = await runIn({ ...home, env }, [program, 'doctor', '--json']);
    expect(JSON.parse(stdout).credentials).toMatchObject({
      kind: 'file',
      path: home.credentialsFile,
      why: expect.stringContaining('the keychain cannot be used'),
    });
  });

  test.skipIf(process.platform !== 'linux')(
    'are never stored in a file with LATCHKEY_CREDENTIALS=keychain',
    async () => {
      const home = newHome({ LATCHKEY_SERVER: service.url, LATCHKEY_CREDENTIALS: 'keychain' });
      const { code, stderr } = await latchkey(home, 'login');
      expect(code).toBe(4);
      expect(stderr).toContain('keychain');
      expect(existsSync(home.credentialsFile)).toBe(false);
    },
  );
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

  test.skipIf(!Bun.which('zsh'))('zsh completes commands with the script', async () => {
    const home = newHome();
    const script = `autoload -Uz compinit && compinit -u; source <(latchkey completion zsh)
      compadd() { :; }; _describe() { print -l -- \${(P)2}; }
      words=(latchkey sessions '') CURRENT=3; _latchkey`;
    const { stdout, stderr } = await runIn(home, ['zsh', '-f', '-c', script]);
    expect(stderr).toBe('');
    expect(stdout).toContain('revoke:end one of your sessions');
  });

  test.skipIf(!Bun.which('fish'))('fish completes commands with the script', async () => {
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

  test('works on its own, and files in the current directory have no effect', async () => {
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

  test.skipIf(!hasSecretService)('shares sessions in the keychain with the program', async () => {
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
