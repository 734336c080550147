// The packages for npm: built, packed, installed into empty folders and run there.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, realpathSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { $, spawnSync } from 'bun';
import { publint } from 'publint';
import { newPasskey, passkeyLogin } from '#support/account.ts';
import { newPage } from '#support/browser.ts';
import { approving, decide, expireAccessToken, listener, newHome, runIn } from '#support/cli.ts';
import type { SuiteOptions } from '#support/client-suite.ts';
import { followInstalling } from '#support/guides.ts';
import { nodes } from '#support/node.ts';
import { registerService, startService, temporaryDirectory } from '#support/service.ts';
import { shared } from '#support/shared.ts';
import { until, waitTimeoutMs } from '#support/until.ts';
import { linesOf } from '#support/worker.ts';
import cli from '../../packages/cli/package.json' with { type: 'json' };
import { buildPackages } from '../../tools/release/packages.ts';

const root = join(import.meta.dir, '../..');
const target = temporaryDirectory();
const maxCliMegabytes = 15;

let archives: readonly string[];

/** A page on another origin that runs the SDK in a browser, and a server that is no Latchkey. */
const other = listener((request) => {
  const headers = {
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Allow-Headers': 'Authorization',
    'Access-Control-Expose-Headers': 'X-Request-Id',
    'X-Request-Id': 'r',
    'Content-Type': 'text/html',
  };
  switch (request.method === 'OPTIONS' || new URL(request.url).pathname) {
    case true:
      return new Response(null, { status: 204, headers });
    case '/never':
      return new Promise<Response>(() => {});
    case '/redirect':
      return new Response(null, { status: 302, headers: { ...headers, Location: '/never' } });
    default:
      return new Response('<!doctype html><title>readme</title>', { headers });
  }
});

const service = shared(() =>
  startService({ env: { LATCHKEY_DEVICE_POLL_INTERVAL: '1', LATCHKEY_ALLOWED_ORIGINS: other.url } }),
);
beforeAll(async () => {
  archives = await buildPackages(target);
});
afterAll(() => other.stop());

const archive = (name: string): string =>
  archives.find((path) => path.endsWith(`/${name}-${cli.version}.tgz`))!;
const npm = realpathSync(Bun.which('npm')!);

/** Installs archives into an empty folder. Nothing is fetched: the packages need nothing. */
async function install(command: readonly string[], ...names: string[]): Promise<string> {
  const folder = temporaryDirectory();
  await Bun.write(join(folder, 'package.json'), '{"name": "empty", "private": true}');
  const flags = ['--omit=optional', ...(command.includes(npm) ? ['--offline', '--no-audit'] : [])];
  const { exitCode, stderr } = spawnSync([...command, ...flags, ...names.map(archive)], {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', HOME: folder },
  });
  expect([exitCode, stderr.toString().match(/.*rror.*/g)]).toEqual([0, null]);
  return folder;
}

/** A PATH with Bun. */
function withBun(): string {
  const bin = join(temporaryDirectory(), 'bin');
  mkdirSync(bin);
  symlinkSync(process.execPath, join(bin, 'bun'));
  return `${bin}:/usr/bin:/bin`;
}

/** The program in the README of the SDK, for the service at `url`. */
async function readmeProgram(url: string): Promise<string> {
  const text = await Bun.file(join(root, 'packages/client/README.md')).text();
  const blocks = [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code]) => code);
  expect(blocks).toHaveLength(3);
  return blocks.join('').replace('http://localhost:8787', url);
}

/** Writes the program of the README, followed by the suite for clients, beside the installed SDK; returns its file. */
async function writeProgram(folder: string, target: 'browser' | 'process'): Promise<string> {
  const serviceKey = target === 'process' && (await registerService(service, 'verifier', '--may', 'feed'));
  const options: SuiteOptions = {
    ...{ server: service.url, tokens: await service.login('suite@example.com'), other: other.url },
    ...(serviceKey && { serviceKey }),
  };
  const transpiler = new Bun.Transpiler({ loader: 'ts' });
  const suite = await Bun.file(join(root, 'tests/support/client-suite.ts')).text();
  await Bun.write(join(folder, 'suite.mjs'), transpiler.transformSync(suite));
  const program = `${await readmeProgram(service.url)}
import { runSuite } from './suite.mjs';
console.log(JSON.stringify(await runSuite(${JSON.stringify(options)})));`;
  const file = join(folder, 'program.mjs');
  await Bun.write(file, transpiler.transformSync(program));
  return file;
}

/** Watches what the program prints, and approves its sign-in. */
function watchProgram() {
  const lines: string[] = [];
  return {
    onLine: async (line: string): Promise<void> => {
      lines.push(line);
      const code = /enter ([A-Z]{4}-[A-Z]{4})$/.exec(line)?.[1];
      if (code) await decide(service.url, code, 'readme@example.com');
    },
    isDone: () => lines.length === 5,
    expectDone: (findings = {}) => {
      expect(lines.slice(1, 4)).toEqual([
        'Signed in as readme@example.com',
        'Organizations: 1',
        'not_logged_in, retryable: false',
      ]);
      expect(JSON.parse(lines[4]!)).toEqual({
        ...{ email: 'suite@example.com', refreshesOf50: 1, tokensOf50: 1 },
        ...{ refreshesWithLostAnswer: 2, sameKey: true, lastTokenWorks: 200 },
        ...{ wrongToken: 'invalid_token', namesTheRequest: true, neverAnswers: 'timeout' },
        ...{ redirects: 'not_latchkey', isNoLatchkey: 'not_latchkey', unreachable: 'unreachable' },
        ...{ aborted: 'aborted', logout: 'no error', afterLogout: 'not_logged_in', ...findings },
      });
    },
  };
}

/** Commands that need code of their own, which must run on every runtime. */
const readingCommands = [
  ...['accounts', 'status', 'sessions', 'organizations', 'passkeys', 'profile', 'keys', 'doctor'],
  ...['token --scope profile', 'completion bash', 'help keys create'],
];

/** Installs with npm on this Node, or with Bun. */
const runtimes = [
  { name: 'Bun', run: process.execPath, add: [process.execPath, 'add'] },
  ...nodes.map(({ major, path }) => ({ name: `Node ${major}`, run: path, add: [path, npm, 'install'] })),
];

test.each(['client', 'cli', 'server'])('publint finds nothing to improve in the package %s', async (name) => {
  const { messages } = await publint({ pkgDir: join(target, name), pack: false, strict: true });
  expect(messages).toEqual([]);
});

test('the types of the SDK resolve for every ES module and bundler', async () => {
  const data = new Uint8Array(await Bun.file(archive('latchkey-client')).arrayBuffer());
  const result = await checkPackage(createPackageFromTarballData(data));
  if (result.types === false) throw new Error('the package has no types');
  const problems = result.problems.filter(
    (problem) =>
      // Without CommonJS, and without the resolution that ignores `exports`.
      !('resolutionKind' in problem && ['node10', 'node16-cjs'].includes(problem.resolutionKind)),
  );
  expect(problems).toEqual([]);
});

test('the packages contain no source, no dependency but the optional keychain, and their licenses', async () => {
  for (const path of archives) {
    const files = (await $`tar -tzf ${path}`.text()).trim().split('\n');
    expect(files.filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))).toEqual([]);
    for (const file of ['LICENSE', 'README.md']) expect(files).toContain(`package/${file}`);
    const manifest = JSON.parse(await $`tar -xzOf ${path} package/package.json`.text());
    expect(manifest.dependencies).toBeUndefined();
    if (manifest.name === '@latchkey/client') continue;
    expect(files).toContain('package/dist/NOTICES.txt');
  }
});

test('only the public files of the SDK can be imported', async () => {
  const folder = await install([process.execPath, 'add'], 'latchkey-client');
  const importing = (name: string) =>
    spawnSync([nodes[0]!.path, '-e', `import('@latchkey/client/${name}')`], { cwd: folder }).exitCode;
  expect(importing('session')).toBe(0);
  for (const name of ['process-lock', 'internal/storage/process-lock', 'dist/api.js'])
    expect(importing(name)).toBe(1);
});

describe.each(runtimes)('on $name', ({ run, add }) => {
  let folder: string;
  beforeAll(async () => {
    folder = await install(add, 'latchkey-client', 'latchkey');
  });

  test('the installed SDK runs the program of its README, keeps its promises, and verifies with the feed until a session ends', async () => {
    const watcher = watchProgram();
    const command = [run, await writeProgram(folder, 'process')];
    const child = Bun.spawn(command, { timeout: waitTimeoutMs, stderr: 'pipe', cwd: folder });
    for await (const line of linesOf(child.stdout)) await watcher.onLine(line);
    expect([await child.exited, await new Response(child.stderr).text()]).toEqual([0, '']);
    watcher.expectDone({ keptAnswerEnds: true });
  });

  test('the installed command line signs in, reads, refreshes and signs out', async () => {
    const home = newHome({ LATCHKEY_SERVER: service.url });
    const program = [run, join(folder, 'node_modules/.bin/latchkey')];
    const login = await approving(service.url, 'packed@example.com', (onStderr) =>
      runIn(home, [...program, 'login'], onStderr),
    );
    expect(login.code).toBe(0);
    const who = await runIn(home, [...program, 'whoami']);
    expect(who.stdout).toContain('packed@example.com');
    for (const command of readingCommands) {
      const { code, stderr } = await runIn(home, [...program, ...command.split(' ')]);
      expect([command, code, stderr]).toEqual([command, 0, '']);
    }
    const discarded = await runIn(home, ['sh', '-c', '"$@" >/dev/null', 'sh', ...program, 'token']);
    expect([discarded.code, discarded.stderr]).toEqual([0, '']);
    await expireAccessToken(home, service.url);
    const tokens = await Promise.all([1, 2, 3].map(() => runIn(home, [...program, 'token'])));
    expect(tokens.map(({ code, stderr }) => [code, stderr])).toEqual(Array(3).fill([0, '']));
    expect(new Set(tokens.map(({ stdout }) => stdout)).size).toBe(1);
    expect(await runIn(home, [...program, 'logout'])).toMatchObject({ code: 0 });
  });
});

test('the declarations of the installed SDK need no other package, with every check of the compiler', async () => {
  const folder = await install([process.execPath, 'add'], 'latchkey-client');
  const imports = Object.keys((await Bun.file(join(root, 'packages/client/package.json')).json()).exports)
    .filter((name) => !name.startsWith('./internal/'))
    .map((name, index) => `import * as m${index} from '@latchkey/client${name.slice(1)}';\nvoid m${index};`);
  await Bun.write(join(folder, 'all.ts'), imports.join('\n'));
  await Bun.write(join(folder, 'readme.ts'), await readmeProgram(service.url));
  await Bun.write(
    join(folder, 'wrong.ts'),
    `import { createApi } from '@latchkey/client/api';
const profile = await createApi({ server: 'https://login.example' }).call('getProfile');
// @ts-expect-error: no such member
profile.nickname;
const id: string = profile.id;
void id;
export {};`,
  );
  const options = { target: 'ES2022', module: 'NodeNext', strict: true, skipLibCheck: false, noEmit: true };
  const compilerOptions = { ...options, exactOptionalPropertyTypes: true, types: [] };
  await Bun.write(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  await Bun.write(join(folder, 'package.json'), '{"name": "empty", "private": true, "type": "module"}');
  expect(spawnSync([join(root, 'node_modules/.bin/tsc'), '-p', folder]).stdout.toString()).toBe('');
});

test.each(['page', 'worker'])(
  'bundled for a browser, it does the same in a %s of another origin',
  async (kind) => {
    const folder = await install([process.execPath, 'add'], 'latchkey-client');
    const entrypoints = [await writeProgram(folder, 'browser')];
    const { outputs } = await Bun.build({ entrypoints, target: 'browser', format: 'esm' });
    const page = await newPage();
    const watcher = watchProgram();
    await page.exposeFunction('report', watcher.onLine);
    await page.goto(other.url);
    await page.evaluate(
      ({ source, kind }) => {
        const post = kind === 'worker' ? 'postMessage' : 'report';
        const text = `console.log = (line) => ${post}(line);\n${source}`;
        const url = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
        if (kind === 'page') return import(url);
        const worker = new Worker(url, { type: 'module' });
        worker.onmessage = ({ data }) => Reflect.get(globalThis, 'report')(data);
        return undefined;
      },
      { source: await outputs[0]!.text(), kind },
    );
    await until(() => watcher.isDone(), 'the end of the watcher');
    watcher.expectDone();
  },
);

describe('the package of the service', () => {
  let program: string;
  beforeAll(async () => {
    program = join(
      await install([process.execPath, 'add'], 'latchkey-server'),
      'node_modules/.bin/latchkey-server',
    );
  });

  test('serves the pages, signs in by email and passkey, and names the command line as it is installed', async () => {
    const packed = await startService({ program: [program], env: { PATH: withBun() } });
    expect((await fetch(`${packed.url}/login`)).status).toBe(200);
    const passkey = await newPasskey(packed, await packed.login('packed@example.com'));
    expect((await passkeyLogin(packed, passkey)).body).toHaveProperty('access_token');
    expect(await packed.stop()).toBe(0);
    const banner = packed.stderr();
    expect(banner).toMatch(/Terminal: latchkey login --server http:\/\/localhost:\d+\n/);
    expect(banner).not.toContain('npx');
  });

  test('says what it needs where there is no Bun', () => {
    const { exitCode, stderr } = spawnSync([program, '--version'], { env: { PATH: '/usr/bin:/bin' } });
    expect([exitCode, stderr.toString()]).toEqual([1, 'latchkey-server: needs Bun 1.4 or later on PATH\n']);
  });
});

test('the packages lead to a first sign-in, as in the guide', async () => {
  const home = newHome();
  for (const path of archives) symlinkSync(path, join(home.path, basename(path)));
  const prefix = join(home.path, '.local');
  const programs = [join(prefix, 'bin'), dirname(nodes[0]!.path), dirname(Bun.which('npm')!)];
  const env = {
    ...home.env,
    PATH: [...programs, withBun()].join(':'),
    npm_config_prefix: prefix,
    npm_config_offline: 'true',
    npm_config_omit: 'optional',
  };
  // Bun is here already, in the version of the guide, and nothing is fetched.
  const replacements = { [`--global bun@${Bun.version} `]: '--global ' };
  const printed = await followInstalling({ ...home, env }, /^npm install/, replacements);
  expect(printed).toMatch(/^new <new@example\.com> at http:\/\/localhost:\d+\n$/m);
});

test(`the command line with the keychain's library takes less than ${maxCliMegabytes} MB`, async () => {
  const folder = await install([nodes[0]!.path, npm, 'install'], 'latchkey');
  const keychain = join(root, 'node_modules/@napi-rs');
  const size = async (path: string) => Number((await $`du -sk ${path}`.text()).split('\t')[0]);
  const megabytes = ((await size(join(folder, 'node_modules'))) + (await size(keychain))) / 1024;
  expect(megabytes).toBeLessThan(maxCliMegabytes);
});
