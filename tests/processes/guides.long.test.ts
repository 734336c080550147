// The guides for programs, word for word, against a real service.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { credentialStore } from '@latchkey/client/credentials';
import { fileStorage } from '@latchkey/client/file-storage';
import { decide, type Home } from '../support/cli.ts';
import { storedSession } from '../support/client.ts';
import {
  codeBlocks,
  exampleText,
  expectParts,
  openTerminal,
  readerOf,
  runSigningIn,
  runWell,
  startBlock,
  type Terminal,
} from '../support/guides.ts';
import { loginByMail, request } from '../support/http.ts';
import { refreshesDuring } from '../support/refreshes.ts';
import { reservePort } from '../support/reserved-port.ts';
import { startService, type TestService } from '../support/service.ts';
import { shared } from '../support/shared.ts';
import { until } from '../support/until.ts';

const email = 'ada@example.com';
const quickStart = await codeBlocks('docs/quick-start.md', 'sh');

/** A reader with a terminal, and the ports that take the place of those in the guides. */
interface Reader {
  readonly service: TestService;
  readonly home: Home;
  readonly terminal: Terminal;
  /** Starts a block that serves on port 3000, until the reader leaves. */
  serve(block: string): Promise<void>;
  readonly close: () => Promise<void>;
}

async function newReader(): Promise<Reader> {
  const service = await startService({ env: { LATCHKEY_DEVICE_POLL_INTERVAL: '1' } });
  const port = reservePort();
  const projects = `http://localhost:${port}`;
  const home = readerOf(service, { PROJECTS: projects });
  // `npm start` creates it.
  mkdirSync(join(home.path, 'data'));
  const terminal = openTerminal(home, {
    'localhost:8787': new URL(service.url).host,
    'localhost:3000': `localhost:${port}`,
  });
  const stops: (() => Promise<void>)[] = [];
  const isReady = () => fetch(`${projects}/projects`).then(({ status }) => status === 401);
  return {
    service,
    home,
    terminal,
    serve: async (block) => {
      stops.push(await startBlock(home, block, { PORT: String(port) }, isReady));
    },
    close: async () => {
      await Promise.all([...stops.map((stop) => stop()), terminal.close()]);
      await service.stop();
    },
  };
}

/** Runs a block that signs in, and approves it as a person would. */
const signIn = ({ service, terminal }: Reader, block: string) =>
  runSigningIn(terminal, block, service.url, email);

const statusOf = ({ output }: { output: string }) => Number(/^HTTP\/1\.[01] (\d+)/m.exec(output)?.[1]);

/** Expects the status of what curl printed, and parts of it. */
function expectResponse(result: { output: string }, status: number, ...parts: string[]): void {
  expect([statusOf(result), result.output]).toEqual([status, expect.any(String)]);
  for (const part of parts) expect(result.output).toContain(part);
}

describe('the quick start', () => {
  const reader = shared(() => newReader());

  test('leads from a sign-in to a service that checks tokens, and ends with a token that is refused', async () => {
    const { terminal } = reader;
    const [start, login = '', look = '', register = '', serve = '', ...calls] = quickStart;
    const [anonymous = '', withToken = '', withNarrow = '', remove = '', logout = '', after = '', ...more] =
      calls;
    expect([start, more]).toEqual(['npm start\n', []]);

    expect((await signIn(reader, login)).code).toBe(0);
    const shown = (await terminal.run(look)).output;
    expect(shown).toContain(`<${email}> at ${reader.service.url}`);
    expect(shown.match(/^ses_/gm)).toHaveLength(2);
    expect((await terminal.run(register)).code).toBe(0);
    await reader.serve(serve);

    expectResponse(await terminal.run(anonymous), 401);
    const mine = await terminal.run(withToken);
    expectResponse(mine, 200, '"user":"usr_', '"role":"owner"');
    const less = await terminal.run(withNarrow);
    expectResponse(less, 200, '"user":"usr_');
    expect(less.output).not.toContain('organizations');
    expectResponse(await terminal.run(remove), 403, 'scope="projects:write"');

    expect((await terminal.run(logout)).code).toBe(0);
    await until(async () => statusOf(await terminal.run(after)) === 401, 'the refusal of the token');
  });

  test('shows a part of the service that it runs', () => expectParts('docs/quick-start.md', 'ts', 'node.ts'));
});

describe('a command line of your own', () => {
  const document = 'docs/command-line.md';
  const [, , , register = '', serve = ''] = quickStart;
  const reader = shared(() => newReader());
  beforeAll(async () => {
    await reader.terminal.run(register);
    await reader.serve(serve);
  });

  /** The login that the program has stored. */
  const store = () =>
    credentialStore(
      fileStorage(join(reader.home.path, '.config/projects/credentials.json')),
      reader.service.url,
    );
  test('signs in, shares its login with ten processes that refresh it once, and signs out', async () => {
    const { terminal } = reader;
    const [firstUse = '', tenTimes = '', logout = '', ...more] = await codeBlocks(document, 'sh');
    expect(more).toEqual([]);
    const first = await signIn(reader, firstUse);
    expect([first.code, first.output]).toEqual([0, expect.stringContaining(`Signed in as ${email}`)]);
    expect(first.output).toMatch(/^200 \{"user":"usr_/m);

    const before = await storedSession(store());
    await store().put({ ...before, access_token_expires_at: 1 });
    const refreshes = await refreshesDuring(reader.service.url, async () => {
      const ten = await terminal.run(tenTimes);
      expect(ten.output.match(/^200 /gm)).toHaveLength(10);
    });
    expect([refreshes['rotated'], refreshes['retry']]).toEqual([1, 0]);
    expect((await storedSession(store())).refresh_token).not.toBe(before.refresh_token);

    expect((await terminal.run(logout)).code).toBe(0);
    expect(await store().read()).toBeNull();
    const afterwards = await terminal.run('projects list');
    expect([afterwards.code, afterwards.output]).toEqual([1, 'Sign in first: projects login\n']);
  });

  test('is a whole program, which signs in with fewer scopes as the guide shows', async () => {
    const [program = '', narrow = '', ...more] = await codeBlocks(document, 'ts');
    expect([program, more]).toEqual([await exampleText('command-line.ts'), []]);
    const changed = program.replace(/^ *deviceName: .*\n/m, narrow);
    expect(changed).not.toBe(program);
    await Bun.write(join(reader.home.path, 'narrow.ts'), changed);
    const result = await signIn(reader, 'node_modules/.bin/bun narrow.ts login');
    expect([result.code, result.output]).toEqual([0, expect.stringContaining(`Signed in as ${email}`)]);
    const { access_token: token } = await storedSession(store());
    expect((await request(reader.service.url, 'GET', '/organizations', { token })).status).toBe(403);
  });
});

describe('checking tokens with nothing but HTTP', () => {
  const document = 'docs/http-only.md';
  const python = Bun.which('python3');
  let blocks: string[];
  let reader: Reader;
  let token: string;

  beforeAll(async () => {
    blocks = await codeBlocks(document, 'sh');
    reader = await newReader();
    await signIn(reader, 'npx latchkey login');
    await reader.terminal.run(blocks[0] ?? '');
    token = (await reader.terminal.run('npx latchkey token')).output.trim();
  });
  afterAll(() => reader.close());

  /** The token of a login as the guides have it, narrowed to some scopes. */
  const narrowed = async (scopes: string): Promise<string> =>
    (await reader.terminal.run(`npx latchkey token --scope ${scopes}`)).output.trim();
  /** A token that is restricted in a way that no example enforces. */
  const restricted = async (): Promise<string> => {
    const form = new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: token,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      scope: 'projects:read',
      authorization_details: JSON.stringify([{ type: 'deployment', active: true, scope: 'projects:read' }]),
    });
    const response = await fetch(`${reader.service.url}/api/v1/auth/token`, { method: 'POST', body: form });
    return ((await response.json()) as { access_token: string }).access_token;
  };
  const refreshToken = async (): Promise<string> =>
    (await loginByMail(reader.service.url, 'bob@example.com')).refresh_token;

  test('the request of the guide tells what a token is', async () => {
    const { output } = await reader.terminal.run(blocks[1] ?? '');
    expect(JSON.parse(output)).toMatchObject({ active: true, token_use: 'access_token', scope: '*' });
  });

  test('the shell program prints the user of a good token, and tells a bad one from an unreachable server', async () => {
    const { terminal } = reader;
    const good = await terminal.run(blocks[4] ?? '');
    expect([good.code, good.output]).toEqual([0, expect.stringMatching(/^usr_[\w-]+\n$/)]);
    const check = (given: string, scope = 'projects:read', server = '') =>
      terminal.run(`echo '${given}' | ${server} examples/check-token.sh ${scope}`);
    expect((await check(await narrowed('projects:read'))).output).toBe(good.output);
    const refused: [string, string?][] = [
      [await narrowed('profile')],
      [await narrowed('projects:read'), 'projects'],
      [await restricted()],
      [await refreshToken()],
      ['lk_at_forged'],
      ['x" url = "file:///etc/passwd'],
      [''],
    ];
    for (const [given, scope] of refused)
      expect([given, await check(given, scope)]).toEqual([given, { code: 1, output: '' }]);
    const nobody = `LATCHKEY_SERVER=http://127.0.0.1:${reservePort()}`;
    expect(await check(token, 'projects:read', nobody)).toEqual({ code: 2, output: '' });
    expect(blocks).toHaveLength(5);
  });

  test.skipIf(!python)(
    `the Python service answers 200, 401, 403 and 503${python ? '' : ': skipped, because python3 was not found'}`,
    async () => {
      await expectParts(document, 'python', 'service.py');
      await reader.serve(blocks[2] ?? '');
      const call = async (given: string) =>
        reader.terminal.run((blocks[3] ?? '').replace('$token', given.replaceAll("'", '')));
      expectResponse(await call(token), 200, '{"user": "usr_');
      expectResponse(await call(await narrowed('projects:read')), 200);
      for (const given of [await refreshToken(), 'lk_at_forged', '']) expectResponse(await call(given), 401);
      for (const given of [await narrowed('profile'), await restricted()]) {
        const { output } = await call(given);
        expect(output).toContain('403 Forbidden');
        expect(output).toContain('error="insufficient_scope", scope="projects:read"');
      }

      const fresh = await narrowed('projects:read');
      await reader.service.stop();
      expectResponse(await call(fresh), 503, 'Retry-After: 1');
    },
  );
});

describe('the questions and answers', () => {
  const reader = shared(() => newReader());

  test('have commands that work, in their order', async () => {
    const [ended = '', ...blocks] = await codeBlocks('docs/faq.md', 'sh');
    const { access_token: token } = await loginByMail(reader.service.url, email);
    await request(reader.service.url, 'POST', '/revoke', { token });
    const events = await reader.terminal.run(ended);
    expect([events.code, events.output]).toEqual([0, expect.stringContaining('all_sessions_revoked')]);

    expect(blocks).toHaveLength(5);
    for (const block of blocks) await runWell(reader.terminal, block);
    const exported = await reader.terminal.run('cat grace.json');
    expect(JSON.parse(exported.output)).toMatchObject({
      users: [{ email: 'grace@example.com', name: 'Grace Hopper' }],
    });
  });
});

describe('signing in with curl', () => {
  const reader = shared(() => newReader());

  test('prints a link, fetches the tokens after the approval, and refreshes them', async () => {
    const { terminal, service } = reader;
    const blocks = await codeBlocks('docs/curl.md', 'sh');
    const [start = '', fetchTokens = '', choose = '', refresh = '', ...more] = blocks;
    expect(more).toEqual([]);
    const { output } = await terminal.run(start);
    await decide(service.url, /user_code=([A-Z]{4}-[A-Z]{4})/.exec(output)?.[1] ?? '', email);
    expect((await terminal.run(fetchTokens)).output).toContain('"access_token":"lk_at_');
    await terminal.run(choose);
    const first = await terminal.run(refresh);
    expect(first.output).toContain('"refresh_token":"lk_rt_');
    // As after a lost response.
    expect(refreshTokenIn(await terminal.run(refresh))).toBe(refreshTokenIn(first));
  });

  const refreshTokenIn = ({ output }: { output: string }) => /"refresh_token":"([^"]*)"/.exec(output)?.[1];
});

describe('the guides to services', () => {
  const reader = shared(() => newReader());
  beforeAll(async () => {
    await signIn(reader, 'npx latchkey login');
  });

  test('has commands that register a service and call it; its pages about runs and the feed, that act for a user and read it', async () => {
    const { terminal } = reader;
    const [register = '', call = '', ...more] = await codeBlocks('docs/siblings.md', 'sh');
    const [act = '', ...others] = await codeBlocks('docs/runs.md', 'sh');
    const [feed = '', ...rest] = await codeBlocks('docs/feed.md', 'sh');
    expect([...more, ...others, ...rest]).toEqual([]);
    const serviceKey = (await terminal.run(register)).output.trim().split('\n').at(-1) ?? '';
    const [serviceId = ''] = serviceKey.split(':');
    await terminal.run(`SERVICE_KEY='${serviceKey}'`);
    await reader.serve(`SERVICE_KEY=${serviceKey} node_modules/.bin/bun examples/express.ts`);

    const { output } = await terminal.run(call);
    expect(output.match(/^HTTP\/1\.1 \d+/gm)).toEqual(['HTTP/1.1 401', 'HTTP/1.1 200', 'HTTP/1.1 401']);
    expect(output).toContain('error="insufficient_user_authentication"');

    expect(act).toContain('svc_… ');
    const run = await terminal.run(act.replace('svc_…', serviceId));
    expect(run.output).toContain('"scope":"projects:read"');
    expect(run.output).toContain('"refresh_token":"lk_rt_');
    await terminal.run(`npx latchkey-server services set ${serviceId} --may feed`);
    expect(JSON.parse((await terminal.run(feed)).output)).toMatchObject({ sets: {}, begun: true });
  });
});

describe('helping a person who cannot sign in', () => {
  const document = 'docs/support.md';
  const reader = shared(() => newReader());
  beforeAll(async () => {
    await loginByMail(reader.service.url, email);
  });

  test('a support session goes as the guide says, by the program and by the command', async () => {
    await expectParts(document, 'ts', 'support.ts');
    const [register = '', look = '', signOut = '', disable = '', enable = '', show = '', ...more] =
      await codeBlocks(document, 'sh');
    expect(more).toEqual([]);
    const { terminal } = reader;
    const run = (block: string) => runWell(terminal, block);
    await run(register);
    const before = await run(look);
    expect(before).toStartWith(`${email} (ada), active\n`);
    expect(before).toContain('\nsession: browser');
    expect(before).toContain(`email: sign_in to ${email}, sent`);
    const wrongKey = await terminal.run(
      'OPERATOR_KEY=wrong node_modules/.bin/bun examples/support.ts ada@example.com',
    );
    expect(wrongKey).toMatchObject({ code: 1, output: expect.stringMatching(/^support: [^\n]+\n$/) });
    expect(await run(signOut)).not.toContain('session:');
    expect(await run(disable)).toStartWith(`${email} (ada), disabled`);
    expect(await run(enable)).toStartWith(`${email} (ada), active`);
    const shown = await run(show);
    expect(shown).toMatch(/^EMAIL +NAME +STATE[\s\S]*SESSIONS[\s\S]*EMAILS[\s\S]*EVENTS/m);
    expect(shown.match(/account (en|dis)abled +- +by=svc_/g)).toHaveLength(2);
    expect(shown).toMatch(/all sessions revoked +- +by=svc_/);
  });
});
