// Nodes of an earlier commit and of this one on one PostgreSQL database, while an upgrade replaces them one after the other.

import { expect, test } from 'bun:test';
import { type TokenSet, tokenSet } from '@latchkey/contract/tokens';
import postgres from 'postgres';
import { canWorkWith, migrationNames } from '../../packages/server/src/platform/database/migrate.ts';
import { type EarlierProgram, findEarlierProgram } from '../support/earlier-program.ts';
import { apiAt, linkTokenIn, loginByMail, mailTo, request } from '../support/http.ts';
import { startLoad } from '../support/load.ts';
import { startPostgres } from '../support/postgres.ts';
import { reservePort } from '../support/reserved-port.ts';
import { startRetryingProxy } from '../support/retrying-proxy.ts';
import { startService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const clients = 8;
/** Each node must have answered that many requests before the next one is replaced. */
const requestsBetween = 100;

const earlier = findEarlierProgram();
if (!earlier)
  process.stderr.write(
    'rolling upgrade: skipped, because the history of this checkout has no program with a schema that it can upgrade\n',
  );

const later = migrationNames.filter((name) => !earlier?.migrations.includes(name));
const canStart = earlier && later.every((name) => canWorkWith(name, earlier.migrations.at(-1)));

const createDatabase = async (): Promise<string> => (await startPostgres()).createDatabase();

async function appliedIn(databaseUrl: string): Promise<string[]> {
  const sql = postgres(databaseUrl, { max: 1 });
  const rows = await sql<{ name: string }[]>`SELECT name FROM kysely_migration ORDER BY name`;
  await sql.end();
  return rows.map(({ name }) => name);
}

const isSignedInAt = async (node: TestService, { access_token: token }: TokenSet): Promise<boolean> =>
  (await request(node.url, 'GET', '/me', { token })).status === 200;

async function refreshAt(node: TestService, { refresh_token }: TokenSet): Promise<TokenSet> {
  const { status, body } = await request(node.url, 'POST', '/refresh', { json: { refresh_token } });
  expect(status).toBe(200);
  return body;
}

/** Requests a link at one node and uses it at the other. */
async function signInAcross(from: TestService, to: TestService, email: string): Promise<TokenSet> {
  await apiAt(from.url).call('requestMagicLink', { body: { email } });
  const token = linkTokenIn(await mailTo(from.url, email));
  return tokenSet.parse(await apiAt(to.url).call('verifyMagicLink', { body: { token } }));
}

/** Starts a device login at one node and approves it at the other; returns what the first one then gives. */
async function deviceLoginAcross(
  from: TestService,
  to: TestService,
  { access_token }: TokenSet,
): Promise<TokenSet> {
  const { body: started } = await request(from.url, 'POST', '/device', { json: { client_name: 'test' } });
  const approval = { token: access_token, json: { user_code: started.user_code } };
  expect((await request(to.url, 'POST', '/device/approve', approval)).status).toBe(204);
  const { device_code } = started;
  const { status, body } = await request(from.url, 'POST', '/token', { json: { device_code } });
  expect(status).toBe(200);
  return body;
}

/** Everything that one node begins and the other one continues. */
async function crossFrom(from: TestService, to: TestService, email: string): Promise<void> {
  const login = await signInAcross(from, to, email);
  const refreshed = await refreshAt(from, login);
  expect(await isSignedInAt(to, await refreshAt(to, refreshed))).toBe(true);

  const device = await deviceLoginAcross(from, to, login);
  expect(await isSignedInAt(to, device)).toBe(true);
  const revocation = { token: device.access_token, json: { scope: 'session' } };
  expect((await request(from.url, 'POST', '/revoke', revocation)).status).toBe(204);
  const stillSignedIn = (tokens: TokenSet) =>
    Promise.all([from, to].map((node) => isSignedInAt(node, tokens)));
  expect(await stillSignedIn(device)).toEqual([false, false]);
  expect(await stillSignedIn(login)).toEqual([true, true]);
  expect((await request(to.url, 'POST', '/revoke', { token: login.access_token })).status).toBe(204);
  expect(await stillSignedIn(login)).toEqual([false, false]);
}

const startEarlier = ({ program }: EarlierProgram, databaseUrl: string): Promise<TestService> =>
  // It may not know port 0.
  startService({ databaseUrl, program, env: { PORT: String(reservePort()) } });

test.skipIf(!earlier)('two releases on the newest schema continue what the other one began', async () => {
  const databaseUrl = await createDatabase();
  const before = await startEarlier(earlier!, databaseUrl);
  expect(await appliedIn(databaseUrl)).toEqual([...earlier!.migrations]);
  const login = await loginByMail(before.url, 'before@example.com');
  const after = await startService({ databaseUrl });
  expect(await appliedIn(databaseUrl)).toEqual(migrationNames);
  expect(await isSignedInAt(before, login)).toBe(true);
  expect(await isSignedInAt(after, login)).toBe(true);
  await crossFrom(before, after, 'ada@example.com');
  await crossFrom(after, before, 'eva@example.com');
  await Promise.all([before.stop(), after.stop()]);
});

test.skipIf(!earlier)(
  'an earlier release starts on the newest schema if the migrations say so, or else refuses',
  async () => {
    const databaseUrl = await createDatabase();
    const after = await startService({ databaseUrl });
    const starting = startEarlier(earlier!, databaseUrl);
    if (canStart) {
      const before = await starting;
      await crossFrom(before, after, 'ada@example.com');
      await before.stop();
    } else await expect(starting).rejects.toThrow('written by a newer release of Latchkey');
  },
);

test.skipIf(!earlier)('while the nodes are replaced one after the other, no request fails', async () => {
  const databaseUrl = await createDatabase();
  const nodes = await Promise.all([1, 2].map(() => startEarlier(earlier!, databaseUrl)));
  const addresses = nodes.map(({ url }) => url);
  const proxy = startRetryingProxy(addresses);
  const logins = await Promise.all(
    Array.from({ length: clients }, (_, index) => loginByMail(addresses[0]!, `client${index}@example.com`)),
  );
  const load = startLoad(proxy.url, logins);
  const someRequests = async () => {
    const enough = load.succeeded() + requestsBetween;
    await until(() => load.succeeded() >= enough, 'enough requests that succeeded');
  };
  await someRequests();
  for (const [index, node] of nodes.entries()) {
    const replaced = await node.stop();
    expect(replaced).toBe(0);
    nodes[index] = await startService({ databaseUrl, env: { PORT: new URL(node.url).port } });
    await someRequests();
  }
  await load.stop();
  expect(load.failures).toEqual([]);
  expect(proxy.retries()).toBeGreaterThan(0);
  expect(await appliedIn(databaseUrl)).toEqual(migrationNames);
  await Promise.all(nodes.map((node) => node.stop()));
  await proxy.stop();
});
