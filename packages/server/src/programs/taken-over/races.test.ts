// A token with a declared name is being made while the name gets another service. The lock on the owner's security log,
// which every transaction takes last, holds the making back until the other side had its time.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import postgres from 'postgres';
import { outcome } from '../../../../../tests/support/account.ts';
import { type Answer, openApp, type TestApp, type Tokens } from '../../../../../tests/support/app.ts';
import { declareService } from '../../../../../tests/support/services.ts';
import { revokeService } from '../../services/service-keys/service-keys.ts';
import { endRunsOfService } from '../../sessions/revocation.ts';

setDefaultTimeout(60_000);

/** Time enough for a takeover that waits for nothing. */
const heldMs = 500;

let app: TestApp;
let node: TestApp;
let sql: postgres.Sql;
let browser: Tokens;
let userId: string;
beforeAll(async () => {
  app = await openApp('postgres');
  node = await openApp('postgres', { beside: app });
  sql = postgres(app.databaseUrl, { max: 2, onnotice: () => undefined });
  browser = await app.login();
  userId = (await app.ask('GET', '/me', { token: browser.access_token })).body.id;
});
afterAll(async () => {
  await sql.end();
  await node.close();
  await app.close();
});

const asOwner = (path: string, json: object) => app.ask('POST', path, { token: browser.access_token, json });

const startDevice = async (scope: string) => (await app.ask('POST', '/device', { json: { scope } })).body;

/**
 * Runs `prepare` while a service declares a scope and a resource, then starts what it returns until that waits for the
 * log, lets another service take the names over meanwhile, and lets it finish.
 */
async function raceTakeover(name: string, prepare: () => Promise<() => Promise<Answer>>) {
  const offered = { resource: `https://${name}.example`, scopes: [{ name, sentence: 'Read' }] };
  const former = await declareService(app.ctx, { name: 'former', ...offered });
  const make = await prepare();
  const held = await sql.begin(async (tx) => {
    await tx`SELECT FROM event_chains WHERE user_id = ${userId} FOR UPDATE`;
    const made = make();
    await untilSomethingWaits();
    const taken = revokeService(node.ctx, former.id, endRunsOfService).then(() =>
      declareService(node.ctx, offered),
    );
    await Bun.sleep(heldMs);
    return { made, taken };
  });
  return { made: await held.made, service: await held.taken };
}

async function untilSomethingWaits(): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    const waiting = await sql`SELECT 1 FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    if (waiting.length > 0) return;
    await Bun.sleep(5);
  }
  throw new Error('nothing waits for the log');
}

const isActive = async (token: string, headers: Record<string, string>): Promise<boolean> =>
  (await app.ask('POST', '/introspect', { form: { token }, headers })).body.active;

test('a key that is being made for the former service ends with the takeover', async () => {
  for (const [name, access] of [
    ['racing.scope', { scope: 'racing.scope' }],
    ['racing.resource', { scope: '*', resource: 'https://racing.resource.example' }],
  ] as const) {
    const json = { name: 'key', expires_in: 3600, ...access };
    const { made, service } = await raceTakeover(name, async () => () => asOwner('/keys', json));
    expect(outcome(made)).toBe('201');
    expect(await isActive(made.body.key, { Authorization: service.authorization })).toBe(false);
  }
});

test('a login that is being redeemed for the former service ends with the takeover', async () => {
  const { made, service } = await raceTakeover('racing.login', async () => {
    const { device_code, user_code } = await startDevice('racing.login');
    expect(outcome(await asOwner('/device/approve', { user_code }))).toBe('204');
    return () => app.ask('POST', '/token', { json: { device_code } });
  });
  expect(outcome(made)).toBe('200');
  const headers = { Authorization: service.authorization };
  expect(await isActive(made.body.access_token, headers)).toBe(false);
  expect(await isActive(made.body.refresh_token, headers)).toBe(false);
});

test('a device that is being approved for the former service is denied by the takeover', async () => {
  let deviceCode = '';
  const { made } = await raceTakeover('racing.device', async () => {
    const { device_code, user_code } = await startDevice('racing.device');
    deviceCode = device_code;
    return () => asOwner('/device/approve', { user_code });
  });
  expect(outcome(made)).toBe('204');
  const redeemed = await app.ask('POST', '/token', { json: { device_code: deviceCode } });
  expect(outcome(redeemed)).toBe('400 access_denied');
});
