// Runs the command line in a home directory of its own, against a real service.

import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { type CredentialStore, credentialStore, tokenMembers } from '@latchkey/client/credentials';
import { fileStorage } from '@latchkey/client/file-storage';
import type { TokenSet } from '@latchkey/contract/tokens';
import type { Subprocess } from 'bun';
import { readConfig } from '../../packages/cli/src/config.ts';
import { run } from '../../packages/cli/src/program.ts';
import { closeAtTestEnd } from './cleanup.ts';
import { storedSession } from './client.ts';
import { serviceAt } from './http.ts';
import { ended, launch, type Outcome, serverMain, temporaryDirectory, untilReady } from './service.ts';
import { waitTimeoutMs } from './until.ts';

/** The executable that `npm test` compiled, if it did, because it starts in half the time; else the launcher of the source. */
export const program =
  process.env['LATCHKEY_TEST_CLI'] ?? join(import.meta.dir, '../../packages/cli/bin/latchkey');

export interface Home {
  readonly path: string;
  readonly credentialsFile: string;
  /** The complete environment of the program. */
  readonly env: Readonly<Record<string, string>>;
}

/** An empty home directory, with `latchkey` on the path. */
export function newHome(env: Readonly<Record<string, string>> = {}): Home {
  const path = temporaryDirectory();
  const bin = join(temporaryDirectory(), 'bin');
  mkdirSync(bin);
  symlinkSync(program, join(bin, 'latchkey'));
  return {
    path,
    credentialsFile: join(path, '.config', 'latchkey', 'credentials.json'),
    env: {
      PATH: `${bin}:${process.env['PATH'] ?? ''}`,
      HOME: path,
      TZ: 'UTC',
      LANG: 'C.UTF-8',
      // Tests must not touch the keychain of the developer who runs them.
      LATCHKEY_CREDENTIALS: 'file',
      ...env,
    },
  };
}

/** The process of a command that runs. */
export type Running = Pick<Subprocess, 'kill' | 'pid'>;

/** Runs a command in this home until it ends. `watch` gets all of standard error so far: when it starts, and each time that grows. */
export async function runIn(
  home: Pick<Home, 'path' | 'env'>,
  command: readonly string[],
  watch: (stderr: string, running: Running) => void = () => {},
): Promise<Outcome> {
  const running = launch(home.path, home.env, command, {
    watch: (stderr) => watch(stderr, running.child),
    timeout: waitTimeoutMs,
  });
  watch('', running.child);
  return ended(running);
}

/** Runs a command of the program in this process, for tests that need no process of its own. */
export const latchkey = (home: Home, ...args: string[]): Promise<Outcome> => runHere(home, args);

/** Runs a command as a process, where that is the point: proxies, the current directory, a user without a home. */
export const latchkeyProcess = (home: Home, ...args: string[]): Promise<Outcome> =>
  runIn(home, [program, ...args]);

/** The same. `onStderr` gets all of standard error so far, each time it grows; `signal` stands for those of the system. */
export async function runHere(
  { env }: Pick<Home, 'env'>,
  args: readonly string[],
  onStderr: (text: string) => void = () => {},
  signal: AbortSignal = AbortSignal.timeout(waitTimeoutMs),
): Promise<Outcome> {
  const outcome = { code: 0, stdout: '', stderr: '' };
  const streamTo = (name: 'stdout' | 'stderr') => {
    const decoder = new TextDecoder();
    return {
      write: (text: string | Uint8Array, done: () => void) => {
        outcome[name] += typeof text === 'string' ? text : decoder.decode(text, { stream: true });
        if (name === 'stderr') onStderr(outcome.stderr);
        done();
      },
    };
  };
  outcome.code = await run({
    args,
    config: readConfig(env),
    stdin: () => Readable.from([]),
    stdout: streamTo('stdout'),
    stderr: streamTo('stderr'),
    signal,
    takeSignals: () => {},
    signalGroup: () => {},
  });
  return outcome;
}

/** Approves or denies a device login after signing in by mail. */
export async function decide(
  url: string,
  userCode: string,
  email: string,
  decision: 'approve' | 'deny' = 'approve',
): Promise<void> {
  const { api, login } = serviceAt(url);
  const { access_token: accessToken } = await login(email);
  await api.call(`${decision}Device`, { accessToken, body: { user_code: userCode } });
}

/** A complete device login without the program. */
export async function deviceLogin(url: string, email: string, deviceName: string): Promise<TokenSet> {
  const service = serviceAt(url);
  return service.deviceLogin(await service.login(email), {
    client_name: 'Latchkey CLI',
    device_name: deviceName,
  });
}

/** The sessions of this kind that a person has. */
export async function sessionsOf(url: string, email: string, kind: 'device' | 'run') {
  const { access_token: accessToken } = await serviceAt(url).login(email);
  const { sessions } = await serviceAt(url).api.call('listSessions', { accessToken });
  return sessions.filter((session) => session.kind === kind);
}

/** The credential store of the program in this home, for one server. */
export const storeOf = (home: Home, server: string): CredentialStore =>
  credentialStore(fileStorage(home.credentialsFile), server);

/** Stores a login in a home as the program would. `server`: the address to store it for. Default: `url`. */
export async function storeLogin(home: Home, url: string, email: string, server = url): Promise<void> {
  const tokens = await deviceLogin(url, email, 'laptop');
  const user = await serviceAt(url).api.call('getProfile', { accessToken: tokens.access_token });
  await storeOf(home, server).put({
    server,
    user: { id: user.id, email: user.email! },
    logged_in_at: new Date().toISOString(),
    ...tokenMembers(tokens, Date.now()),
  });
}

/** Makes the stored access token look expired. */
export async function expireAccessToken(home: Home, server: string): Promise<void> {
  const store = storeOf(home, server);
  await store.put({ ...(await storedSession(store)), access_token_expires_at: 1 });
}

/** Adds a script to the path of a home. */
export function addCommand(home: Home, name: string, script: string): void {
  const [bin = ''] = (home.env['PATH'] ?? '').split(':');
  writeFileSync(join(bin, name), script, { mode: 0o755 });
}

/** Adds an `npx` that runs the programs of the checkout, as npx does in its directory. */
export const addNpx = (home: Home): void =>
  addCommand(
    home,
    'npx',
    `#!/bin/sh
name=$1
shift
case $name in
  latchkey) exec ${program} "$@" ;;
  latchkey-server) exec ${process.execPath} ${serverMain} "$@" ;;
esac
exit 127
`,
  );

/** The user code that `latchkey login` has printed so far. */
export const userCodeIn = (text: string) => /^[A-Z]{4}-[A-Z]{4}$/m.exec(text)?.[0];

/** Runs what signs in, and approves it as this person when its user code is in the output that it passes on. */
export async function approving<T>(
  url: string,
  email: string | undefined,
  signIn: (onOutput: (text: string) => void) => Promise<T>,
): Promise<T> {
  let decided: Promise<void> | undefined;
  const outcome = await signIn((text) => {
    const code = userCodeIn(text);
    if (code && email) decided ??= decide(url, code, email);
  });
  await decided;
  return outcome;
}

/** Runs `latchkey login`, approved by `email` at the service at `url`. */
export const loginAs = (home: Home, url: string, email: string, ...args: string[]): Promise<Outcome> =>
  approving(url, email, (onStderr) => runHere(home, ['login', ...args], onStderr));

/** A server that records its requests. It ends with the test that starts it. */
export function listener(
  respond: (request: Request) => Response | Promise<Response>,
  tls?: { readonly cert: string; readonly key: string },
) {
  const received: { url: URL; host: string | null }[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 60,
    ...(tls ? { tls: { cert: Bun.file(tls.cert), key: Bun.file(tls.key) } } : {}),
    fetch: (request) => {
      received.push({ url: new URL(request.url), host: request.headers.get('host') });
      return respond(request);
    },
  });
  const stop = () => server.stop(true);
  closeAtTestEnd(stop);
  return { url: `http${tls ? 's' : ''}://127.0.0.1:${server.port}`, received, stop };
}

/**
 * A proxy to a service, which appears under the address of the proxy.
 * @param answer decides what becomes of a request, and when. `forward` asks the service.
 */
export function proxyTo(
  service: { readonly url: string },
  answer: (
    request: Request,
    path: string,
    forward: () => Promise<Response>,
  ) => Response | Promise<Response> = (_, __, forward) => forward(),
) {
  const proxy = listener((request) => {
    // `answer` may read its body first.
    const copy = request.clone();
    return answer(request, new URL(request.url).pathname, () =>
      forwardTo(service.url, copy, (text) => text.replaceAll(service.url, proxy.url)),
    );
  });
  return proxy;
}

/** Sends a request on to another origin, and returns the response, whose text may be changed. */
export async function forwardTo(
  origin: string,
  request: Request,
  change = (text: string): string => text,
): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const { method, headers } = request;
  const body = method === 'GET' ? null : await request.text();
  const response = await fetch(origin + pathname + search, { method, headers, body, redirect: 'manual' });
  const text = change(await response.text());
  const answered = new Headers(response.headers);
  for (const name of ['Content-Encoding', 'Content-Length']) answered.delete(name);
  return new Response(text === '' ? null : text, { status: response.status, headers: answered });
}

/** Fills a directory with code that Bun would run in it, each of which leaves a file `ran`, and settings in other files than `.env`. */
export function plantCode(directory: string): void {
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  };
  write('evil.ts', `require('node:fs').writeFileSync(${JSON.stringify(join(directory, 'ran'))}, '');\n`);
  write('bunfig.toml', 'preload = ["./evil.ts"]\n[run]\nbun = true\n');
  const paths = { '*': [join(directory, 'evil.ts')] };
  for (const name of ['tsconfig.json', 'jsconfig.json'])
    write(name, JSON.stringify({ compilerOptions: { baseUrl: '.', paths } }));
  write('package.json', JSON.stringify({ imports: { '#*': './evil.ts' }, workspaces: ['node_modules/*'] }));
  for (const name of [
    'commander',
    'zod',
    'hono',
    'kysely',
    'postgres',
    '@levischuck/tiny-cbor',
    '@latchkey/client',
  ])
    write(`node_modules/${name}/index.ts`, "import '../../evil.ts'; import '../../../evil.ts';\n");
  for (const name of ['.env.local', '.env.production', '.env.development']) write(name, 'PORT=nonsense\n');
}

export type RunningAgent = Awaited<ReturnType<typeof startAgent>>;

/** Starts the agent of the login in this home, and resolves once it listens. */
export const startAgent = (home: Home, ...args: string[]) => startAgentOn([program], home, ...args);

/** @param command runs the command line */
export async function startAgentOn(command: readonly string[], home: Home, ...args: string[]) {
  const running = launch(home.path, home.env, [...command, 'agent', ...args]);
  const { child, stdout } = running;
  const lines = 1 + (args.includes('--listen') ? args.filter((arg) => arg === '--forward').length : 0);
  await untilReady('the agent', running, () => stdout().split('\n').length > lines);
  const text = stdout();
  return {
    pid: child.pid,
    address: /^LATCHKEY_AGENT=(.+)\n/.exec(text)?.[1] ?? '',
    /** Where its forwarded services are, by the names of their variables. Empty without `--listen`. */
    forwards: Object.fromEntries(
      [...text.matchAll(/^(LATCHKEY_FORWARD_\w+)=(.+)$/gm)].map(([, name = '', url = '']) => [name, url]),
    ),
    /** Resolves with its exit code. */
    stop: (signal: NodeJS.Signals = 'SIGTERM'): Promise<number> => {
      child.kill(signal);
      return child.exited;
    },
  };
}
