// The guides for programs, word for word, against a real service.

import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { credentialStore } from '@latchkey/client/credentials';
import { fileStorage } from '@latchkey/client/file-storage';
import { decide } from '#support/cli.ts';
import { storedSession } from '#support/client.ts';
import {
  allBlocks,
  exampleText,
  expectParts,
  openTerminal,
  readerOf,
  runSigningIn,
  runWell,
  startBlock,
} from '#support/guides.ts';
import { exchangeForm, refreshesDuring } from '#support/http.ts';
import { reservePort } from '#support/reserved-port.ts';
import { startService } from '#support/service.ts';
import { fresh } from '#support/shared.ts';
import { until } from '#support/until.ts';

const email = 'ada@example.com';
const quickStart = await allBlocks('docs/quick-start.md', 'sh', 11);

/** A reader with a terminal, and the ports that take the place of those in the guides. */
const reader = fresh(async () => {
  const service = await startService({ env: { LATCHKEY_DEVICE_POLL_INTERVAL: '1' } });
  const port = reservePort();
  const projects = `http://localhost:${port}`;
  const home = readerOf(service, { PROJECTS: projects });
  const terminal = openTerminal(home, {
    'localhost:8787': new URL(service.url).host,
    'localhost:3000': `localhost:${port}`,
  });
  const isReady = () => fetch(`${projects}/projects`).then(({ status }) => status === 401);
  return {
    service,
    home,
    terminal,
    /** Starts a block that serves on port 3000, until the test ends. */
    serve: (block: string) => startBlock(home, block, { PORT: String(port) }, isReady),
  };
});

const run = (block: string) => reader.terminal.run(block);
const runOk = (block: string) => runWell(reader.terminal, block);
/** Runs a block that signs in, and approves it as a person would. */
const signIn = (block: string) => runSigningIn(reader.terminal, block, reader.service.url, email);
const statusOf = ({ output }: { output: string }) => Number(/^HTTP\/1\.[01] (\d+)/m.exec(output)?.[1]);

/** Expects the status of what curl printed, and parts of it. */
function expectResponse(result: { output: string }, status: number, ...parts: string[]): void {
  expect([statusOf(result), result.output]).toEqual([status, expect.any(String)]);
  for (const part of parts) expect(result.output).toContain(part);
}

test('the quick start leads from a sign-in to a service that checks tokens, and ends with a token that is refused', async () => {
  const [start, login, look, register, serve, ...calls] = quickStart;
  const [anonymous, withToken, withNarrow, remove, logout, after] = calls;
  expect(start).toBe('npm start\n');
  await expectParts('docs/quick-start.md', 'ts', 'node.ts');

  expect((await signIn(login)).code).toBe(0);
  const shown = (await run(look)).output;
  expect(shown).toContain(`<${email}> at ${reader.service.url}`);
  expect(shown.match(/^ses_/gm)).toHaveLength(2);
  await runOk(register);
  await reader.serve(serve);

  expectResponse(await run(anonymous), 401);
  expectResponse(await run(withToken), 200, '"user":"usr_', '"role":"owner"');
  const less = await run(withNarrow);
  expectResponse(less, 200, '"user":"usr_');
  expect(less.output).not.toContain('organizations');
  expectResponse(await run(remove), 403, 'scope="projects:write"');
  await runOk(logout);
  await until(async () => statusOf(await run(after)) === 401, 'the refusal of the token');
});

test('a command line of your own signs in, shares its login with ten processes that refresh it once, and signs out', async () => {
  const document = 'docs/command-line.md';
  const [, , , register, serve] = quickStart;
  const [firstUse, tenTimes, logout] = await allBlocks(document, 'sh', 3);
  const [program, narrow] = await allBlocks(document, 'ts', 2);
  expect(program).toBe(await exampleText('command-line.ts'));
  await run(register);
  await reader.serve(serve);
  const { home, service } = reader;
  const file = join(home.path, '.config/projects/credentials.json');
  const store = credentialStore(fileStorage(file), service.url);

  const first = await signIn(firstUse);
  expect([first.code, first.output]).toEqual([0, expect.stringContaining(`Signed in as ${email}`)]);
  expect(first.output).toMatch(/^200 \{"user":"usr_/m);
  const before = await storedSession(store);
  await store.put({ ...before, access_token_expires_at: 1 });
  const refreshes = await refreshesDuring(service.url, async () => {
    expect((await run(tenTimes)).output.match(/^200 /gm)).toHaveLength(10);
  });
  expect([refreshes['rotated'], refreshes['retry']]).toEqual([1, 0]);
  expect((await storedSession(store)).refresh_token).not.toBe(before.refresh_token);
  await runOk(logout);
  expect(await store.read()).toBeNull();
  expect(await run('projects list')).toEqual({ code: 1, output: 'Sign in first: projects login\n' });

  // With fewer scopes, as the guide shows.
  const changed = program.replace(/^ *deviceName: .*\n/m, narrow);
  expect(changed).not.toBe(program);
  await Bun.write(join(home.path, 'narrow.ts'), changed);
  expect((await signIn('node_modules/.bin/bun narrow.ts login')).output).toContain(`Signed in as ${email}`);
  const { access_token: token } = await storedSession(store);
  expect((await service.ask('GET', '/organizations', { token })).status).toBe(403);
});

const python = Bun.which('python3');

test('with nothing but HTTP, a shell program and a Python service tell good tokens from bad ones and an unreachable server', async () => {
  const document = 'docs/http-only.md';
  const [register, introspect, serve, use, check] = await allBlocks(document, 'sh', 5);
  await expectParts(document, 'python', 'service.py');
  await signIn('npx latchkey login');
  await run(register);
  const token = (await run('npx latchkey token')).output.trim();
  const narrowed = async (scopes: string) =>
    (await run(`npx latchkey token --scope ${scopes}`)).output.trim();
  const { refresh_token } = await reader.service.login('bob@example.com');
  // A token that is restricted in a way that no example enforces.
  const restriction = [{ type: 'deployment', active: true, scope: 'projects:read' }];
  const form = {
    ...exchangeForm(token, 'projects:read'),
    authorization_details: JSON.stringify(restriction),
  };
  const { access_token: restricted } = (await reader.service.ask('POST', '/token', { form })).body;

  const about = JSON.parse((await run(introspect)).output);
  expect(about).toMatchObject({ active: true, token_use: 'access_token', scope: '*' });

  const good = await run(check);
  expect([good.code, good.output]).toEqual([0, expect.stringMatching(/^usr_[\w-]+\n$/)]);
  const checked = (given: string, scope = 'projects:read', server = '') =>
    run(`echo '${given}' | ${server} examples/check-token.sh ${scope}`);
  expect((await checked(await narrowed('projects:read'))).output).toBe(good.output);
  for (const [given, scope] of [
    [await narrowed('profile')],
    [await narrowed('projects:read'), 'projects'],
    [restricted],
    [refresh_token],
    ['lk_at_forged'],
    ['x" url = "file:///etc/passwd'],
    [''],
  ] as [string, string?][])
    expect([given, await checked(given, scope)]).toEqual([given, { code: 1, output: '' }]);
  const nobody = `LATCHKEY_SERVER=http://127.0.0.1:${reservePort()}`;
  expect(await checked(token, 'projects:read', nobody)).toEqual({ code: 2, output: '' });

  if (!python) return;
  await reader.serve(serve);
  const call = (given: string) => run(use.replace('$token', given));
  expectResponse(await call(token), 200, '{"user": "usr_');
  expectResponse(await call(await narrowed('projects:read')), 200);
  for (const given of [refresh_token, 'lk_at_forged', '']) expectResponse(await call(given), 401);
  for (const given of [await narrowed('profile'), restricted])
    expectResponse(await call(given), 403, 'error="insufficient_scope", scope="projects:read"');
  const fresh = await narrowed('projects:read');
  await reader.service.stop();
  expectResponse(await call(fresh), 503, 'Retry-After: 1');
});

test('the questions and answers have commands that work, in their order', async () => {
  const [ended, ...blocks] = await allBlocks('docs/faq.md', 'sh', 6);
  const { access_token: token } = await reader.service.login(email);
  await reader.service.ask('POST', '/revoke', { token });
  expect(await runOk(ended)).toContain('all_sessions_revoked');
  for (const block of blocks) await runOk(block);
  expect(JSON.parse(await runOk('cat grace.json'))).toMatchObject({
    users: [{ email: 'grace@example.com', name: 'Grace Hopper' }],
  });
});

test('signing in with curl prints a link, fetches the tokens after the approval, and refreshes them', async () => {
  const [start, fetchTokens, choose, refresh] = await allBlocks('docs/curl.md', 'sh', 4);
  const { output } = await run(start);
  await decide(reader.service.url, /user_code=([A-Z]{4}-[A-Z]{4})/.exec(output)?.[1] ?? '', email);
  expect((await run(fetchTokens)).output).toContain('"access_token":"lk_at_');
  await run(choose);
  const refreshed = async () => /"refresh_token":"(lk_rt_[^"]*)"/.exec((await run(refresh)).output)![1]!;
  const first = await refreshed();
  // As after a lost response.
  expect(await refreshed()).toBe(first);
});

test('the guides to services, runs and the feed register a service, call it, act for a user, and read the feed', async () => {
  const [register, call] = await allBlocks('docs/siblings.md', 'sh', 2);
  const [act] = await allBlocks('docs/runs.md', 'sh', 1);
  const [feed] = await allBlocks('docs/feed.md', 'sh', 1);
  await signIn('npx latchkey login');
  const serviceKey = (await run(register)).output.trim().split('\n').at(-1) ?? '';
  const [serviceId = ''] = serviceKey.split(':');
  await run(`SERVICE_KEY='${serviceKey}'`);
  await reader.serve(`SERVICE_KEY=${serviceKey} node_modules/.bin/bun examples/express.ts`);

  const { output } = await run(call);
  expect(output.match(/^HTTP\/1\.1 \d+/gm)).toEqual(['HTTP/1.1 401', 'HTTP/1.1 200', 'HTTP/1.1 401']);
  expect(output).toContain('error="insufficient_user_authentication"');
  expect(act).toContain('svc_… ');
  const started = (await run(act.replace('svc_…', serviceId))).output;
  expect(started).toContain('"scope":"projects:read"');
  expect(started).toContain('"refresh_token":"lk_rt_');
  await run(`npx latchkey-server services set ${serviceId} --may feed`);
  expect(JSON.parse((await run(feed)).output)).toMatchObject({ sets: {}, begun: true });
});

test('helping a person who cannot sign in goes as the guide says, by the program and by the command', async () => {
  const document = 'docs/support.md';
  await reader.service.login(email);
  await expectParts(document, 'ts', 'support.ts');
  const [register, look, signOut, disable, enable, show] = await allBlocks(document, 'sh', 6);
  await runOk(register);
  const before = await runOk(look);
  expect(before).toStartWith(`${email} (ada), active\n`);
  expect(before).toContain('\nsession: browser');
  expect(before).toContain(`email: sign_in to ${email}, sent`);
  const wrongKey = 'OPERATOR_KEY=wrong node_modules/.bin/bun examples/support.ts ada@example.com';
  expect(await run(wrongKey)).toEqual({ code: 1, output: expect.stringMatching(/^support: [^\n]+\n$/) });
  expect(await runOk(signOut)).not.toContain('session:');
  expect(await runOk(disable)).toStartWith(`${email} (ada), disabled`);
  expect(await runOk(enable)).toStartWith(`${email} (ada), active`);
  const shown = await runOk(show);
  expect(shown).toMatch(/^EMAIL +NAME +STATE[\s\S]*SESSIONS[\s\S]*EMAILS[\s\S]*EVENTS/m);
  expect(shown.match(/account (en|dis)abled +- +by=svc_/g)).toHaveLength(2);
  expect(shown).toMatch(/all sessions revoked +- +by=svc_/);
});
