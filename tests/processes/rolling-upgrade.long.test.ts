// Nodes of an earlier commit and of this one on one PostgreSQL database, while an upgrade replaces them one after the other.

import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { createApi } from '@latchkey/client/api';
import { newIdempotencyKey } from '@latchkey/client/credentials';
import { type TokenSet, tokenSet } from '@latchkey/contract/tokens';
import { spawnSync } from 'bun';
import postgres from 'postgres';
import { forwardTo, listener } from '#support/cli.ts';
import { linkTokenIn, mailTo, serviceAt } from '#support/http.ts';
import { startPostgres } from '#support/postgres.ts';
import { reservePort } from '#support/reserved-port.ts';
import { linesIn, startService, type TestService, temporaryDirectory } from '#support/service.ts';
import { until } from '#support/until.ts';
import { canWorkWith, migrationNames } from '../../packages/server/src/platform/database/migrate.ts';

const clients = 8;
/** How many rounds of requests pass before the next node is replaced. */
const roundsBetween = 50;

const root = join(import.meta.dir, '../..');
const migrationsFolder = 'packages/server/src/platform/database/migrations';

const earlier = findEarlierProgram();
type EarlierProgram = NonNullable<typeof earlier>;
if (!earlier)
  process.stderr.write(
    'rolling upgrade: skipped, because the history of this checkout has no program with a schema that it can upgrade\n',
  );

const later = migrationNames.filter((name) => !earlier?.migrations.includes(name));
const canStart = earlier && later.every((name) => canWorkWith(name, earlier.migrations.at(-1)));

/**
 * The program and the migrations of the newest commit before a migration of this checkout, or else the commit before this one. Undefined where the history has no
 * such commit, as in a shallow clone, or none whose migrations this checkout has. It runs with the packages that it locked,
 * because this checkout may have given one up since.
 */
function findEarlierProgram() {
  for (const commit of candidates()) {
    const migrations = migrationsOf(commit);
    if (migrations.length > 0 && migrations.every((name) => migrationNames.includes(name)))
      return { program: [process.execPath, unpack(commit)], migrations };
  }
  return undefined;
}

/** Commits before which a migration was added, the newest first; without one, the commit before this one. */
function candidates(): string[] {
  const changes = linesIn(git('rev-list', '--first-parent', 'HEAD', '--', migrationsFolder));
  return [...changes.map((commit) => `${commit}^1`), 'HEAD^1'];
}

function migrationsOf(commit: string): string[] {
  const files = linesIn(git('ls-tree', '--name-only', `${commit}:${migrationsFolder}`));
  return files.map((file) => file.replace(/\.ts$/, ''));
}

/** Writes the packages of a commit into a directory of their own. Returns the main file of its service. */
function unpack(commit: string): string {
  const directory = temporaryDirectory();
  const files = ['packages', 'tsconfig.json', 'package.json', 'package-lock.json'];
  const archive = spawnSync(['git', 'archive', commit, ...files], { cwd: root });
  const unpacked = spawnSync(['tar', '-x', '-C', directory], { stdin: archive.stdout });
  if (!archive.success || !unpacked.success) throw new Error(`the files of ${commit} were not written`);
  const options = ['--omit=dev', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'];
  run(directory, 'npm', 'ci', ...options);
  run(directory, process.execPath, 'packages/dashboard/build.ts');
  return join(directory, 'packages/server/src/main.ts');
}

function run(cwd: string, ...command: string[]): void {
  const { success, stderr } = spawnSync(command, { cwd });
  if (!success) throw new Error(`${command[0]} failed in the earlier release: ${stderr}`);
}

/** The output of a Git command, or nothing where it fails. */
function git(...args: string[]): string {
  const { success, stdout } = spawnSync(['git', ...args], { cwd: root, stderr: 'ignore' });
  return success ? stdout.toString() : '';
}

async function appliedIn(databaseUrl: string): Promise<string[]> {
  const sql = postgres(databaseUrl, { max: 1 });
  const rows = await sql<{ name: string }[]>`SELECT name FROM kysely_migration ORDER BY name`;
  await sql.end();
  return rows.map(({ name }) => name);
}

const isSignedInAt = async (node: TestService, { access_token: token }: TokenSet): Promise<boolean> =>
  (await node.ask('GET', '/me', { token })).status === 200;

/** Everything that one node begins and the other one continues. */
async function crossFrom(from: TestService, to: TestService, email: string): Promise<void> {
  const [here, there] = [from.api, to.api];
  await here.call('requestMagicLink', { body: { email } });
  const body = { token: linkTokenIn(await mailTo(from.url, email)) };
  const login = tokenSet.parse(await there.call('verifyMagicLink', { body }));
  let refreshed = login;
  for (const api of [here, there])
    refreshed = await api.call('refresh', { body: { refresh_token: refreshed.refresh_token } });
  expect(await isSignedInAt(to, refreshed)).toBe(true);

  const { device_code, user_code } = await here.call('startDeviceAuthorization', {
    body: { client_name: 'test' },
  });
  await there.call('approveDevice', { accessToken: login.access_token, body: { user_code } });
  const device = tokenSet.parse(await here.call('issueToken', { body: { device_code } }));
  expect(await isSignedInAt(to, device)).toBe(true);
  const stillSignedIn = (tokens: TokenSet) =>
    Promise.all([from, to].map((node) => isSignedInAt(node, tokens)));
  await here.call('revoke', { accessToken: device.access_token, body: { scope: 'session' } });
  expect(await stillSignedIn(device)).toEqual([false, false]);
  expect(await stillSignedIn(login)).toEqual([true, true]);
  await there.call('revoke', { accessToken: login.access_token });
  expect(await stillSignedIn(login)).toEqual([false, false]);
}

const startEarlier = ({ program }: EarlierProgram, databaseUrl: string): Promise<TestService> =>
  // It may not know port 0.
  startService({ databaseUrl, program, env: { PORT: String(reservePort()) } });

test.skipIf(!earlier)(
  'two releases on the newest schema continue what the other one began, and the earlier one starts on it only if the migrations say so',
  async () => {
    const databaseUrl = await (await startPostgres()).createDatabase();
    const before = await startEarlier(earlier!, databaseUrl);
    expect(await appliedIn(databaseUrl)).toEqual([...earlier!.migrations]);
    const login = await before.login('before@example.com');
    const after = await startService({ databaseUrl });
    expect(await appliedIn(databaseUrl)).toEqual(migrationNames);
    for (const node of [before, after]) expect(await isSignedInAt(node, login)).toBe(true);
    await crossFrom(before, after, 'ada@example.com');
    await crossFrom(after, before, 'eva@example.com');
    await before.stop();
    const starting = startEarlier(earlier!, databaseUrl);
    if (canStart) await crossFrom(await starting, after, 'bob@example.com');
    else await expect(starting).rejects.toThrow('written by a newer release of Latchkey');
  },
);

/** Lets a person read the account and refresh the tokens in turn, until all is over. A refusal fails it. */
async function use(url: string, login: TokenSet, all: { rounds: number; isOver: boolean }): Promise<void> {
  const api = createApi({ server: url });
  for (let tokens = login; !all.isOver; all.rounds++) {
    await api.call('getProfile', { accessToken: tokens.access_token });
    const headers = { 'Idempotency-Key': newIdempotencyKey() };
    tokens = await api.call('refresh', { headers, body: { refresh_token: tokens.refresh_token } });
  }
}

/**
 * An HTTP proxy in front of several nodes that does what those in production do: a request that may be repeated is sent to
 * the next node when one gives no answer or says 503.
 */
function startRetryingProxy(nodes: readonly string[]) {
  let next = 0;
  let retries = 0;
  const { url } = listener(async (request) => {
    const mayRepeat = request.method === 'GET' || request.headers.has('Idempotency-Key');
    const first = next++;
    for (let tried = 1; ; tried++) {
      const node = nodes[(first + tried) % nodes.length]!;
      const answer = await forwardTo(node, request.clone()).catch(() => undefined);
      const isFinal = !mayRepeat || tried >= nodes.length;
      if (answer && (answer.status !== 503 || isFinal)) return answer;
      if (isFinal) return new Response('no node answers', { status: 502 });
      retries++;
    }
  });
  /** `retries`: how many requests were sent once more. */
  return { url, retries: () => retries };
}

test.skipIf(!earlier)('while the nodes are replaced one after the other, no request fails', async () => {
  const databaseUrl = await (await startPostgres()).createDatabase();
  const nodes = await Promise.all([1, 2].map(() => startEarlier(earlier!, databaseUrl)));
  const addresses = nodes.map(({ url }) => url);
  const proxy = startRetryingProxy(addresses);
  const logins = await Promise.all(
    Array.from({ length: clients }, (_, index) =>
      serviceAt(addresses[0]!).login(`client${index}@example.com`),
    ),
  );
  const all = { rounds: 0, isOver: false };
  const load = Promise.all(logins.map((login) => use(proxy.url, login, all)));
  const someRequests = async () => {
    const enough = all.rounds + roundsBetween;
    await Promise.race([load, until(() => all.rounds >= enough, 'enough requests')]);
  };
  await someRequests();
  for (const node of nodes) {
    expect(await node.stop()).toBe(0);
    await startService({ databaseUrl, env: { PORT: new URL(node.url).port } });
    await someRequests();
  }
  all.isOver = true;
  await load;
  expect(proxy.retries()).toBeGreaterThan(0);
  expect(await appliedIn(databaseUrl)).toEqual(migrationNames);
});
