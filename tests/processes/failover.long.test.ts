// Nodes on a primary with a standby that is promoted when the primary is lost.

import { expect, test } from 'bun:test';
import postgres from 'postgres';
import { startFaultProxy } from '../support/fault-proxy.ts';
import { deviceTokens, loginByMail, request } from '../support/http.ts';
import { startReplicatedPostgres } from '../support/replicated-postgres.ts';
import { runOperator, startService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const clients = 4;
const revocations = 16;
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

/** What clients saw of writes. */
interface Writing {
  /** Device codes that were given out. */
  readonly codes: string[];
  /** Access tokens of sessions whose end was confirmed. */
  readonly revoked: string[];
  /** All other answers. */
  readonly refusals: { readonly status: number; readonly retryAfter: string | null }[];
  stop(): Promise<void>;
}

/** Starts device logins and ends these sessions without a pause, on all nodes in turn. */
function write(nodes: readonly TestService[], tokens: string[]): Writing {
  const [codes, revoked]: string[][] = [[], []];
  const refusals: Writing['refusals'] = [];
  let isRunning = true;
  const post = async (node: TestService, path: string, init: RequestInit): Promise<string | undefined> => {
    const answer = await fetch(`${node.url}/api/v1/auth${path}`, { ...init, method: 'POST' });
    const text = await answer.text();
    if (answer.ok) return text;
    refusals.push({ status: answer.status, retryAfter: answer.headers.get('Retry-After') });
    return undefined;
  };
  const revoke = async (node: TestService, token: string): Promise<void> => {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const done = await post(node, '/revoke', { headers, body: '{"scope":"session"}' });
    if (done !== undefined) revoked!.push(token);
  };
  const writers = Array.from({ length: clients }, async (_, index) => {
    for (let round = index; isRunning; round++) {
      const node = nodes[round % nodes.length]!;
      const started = await post(node, '/device', {});
      if (started !== undefined) codes!.push(JSON.parse(started).device_code);
      const token = tokens.pop();
      if (token !== undefined) await revoke(node, token);
    }
  });
  return {
    codes: codes!,
    revoked: revoked!,
    refusals,
    stop: async () => {
      isRunning = false;
      await Promise.all(writers);
    },
  };
}

/** Access tokens of as many sessions of one account. */
async function accessTokens({ url }: TestService, count: number): Promise<string[]> {
  const { access_token } = await loginByMail(url, 'ada@example.com');
  const logins = Array.from({ length: count }, () => deviceTokens(url, access_token));
  return (await Promise.all(logins)).map((tokens) => tokens.access_token);
}

test('when the primary is killed, nodes say 503, and go on with the promoted standby and all that was acknowledged', async () => {
  const servers = await startReplicatedPostgres();
  const orders = [servers.url('primary', 'standby'), servers.url('standby', 'primary')];
  const nodes = await Promise.all(orders.map((databaseUrl) => startService({ databaseUrl })));
  const login = await loginByMail(nodes[0]!.url, 'eva@example.com');
  const writing = write(nodes, await accessTokens(nodes[0]!, revocations));
  await until(() => writing.revoked.length > revocations / 4, 'a quarter of the revocations');
  servers.killPrimary();
  await until(() => writing.refusals.length > clients * 4, 'refusals for every client');
  const { length: before } = writing.codes;
  const answers = await Promise.all(nodes.map(({ url }) => fetch(`${url}/readyz`)));
  expect(answers.map(({ status }) => status)).toEqual([503, 503]);
  expect(writing.codes).toHaveLength(before);
  await servers.promoteStandby();
  await until(() => writing.codes.length > before + 20, '20 more codes');
  await writing.stop();

  expect(new Set(writing.refusals.map(({ status }) => status))).toEqual(new Set([503]));
  expect(writing.refusals.filter(({ retryAfter }) => !(Number(retryAfter) > 0))).toEqual([]);
  for (const node of nodes) {
    const me = () => request(node.url, 'GET', '/me', { token: login.access_token });
    // The codes above may all be of the other node, which was first to find the new primary.
    await until(async () => (await me()).status !== 503, 'a node that goes on');
    expect((await me()).body.email).toBe('eva@example.com');
  }
  for (const token of writing.revoked) {
    expect((await request(nodes[1]!.url, 'GET', '/me', { token })).status).toBe(401);
  }
  const polls = writing.codes.map(async (device_code) => {
    const body = new URLSearchParams({ grant_type: deviceGrant, device_code });
    const answer = await fetch(`${nodes[0]!.url}/api/v1/auth/token`, { method: 'POST', body });
    return ((await answer.json()) as { error: string }).error;
  });
  expect(new Set(await Promise.all(polls))).toEqual(new Set(['authorization_pending']));
  const { code, stdout, stderr } = await runOperator(nodes[0]!.env, 'users', 'list');
  expect([code, stdout]).toEqual([0, expect.stringContaining('eva@example.com')]);
  expect(stderr).toBe(`Store: ${orders[0]!.replace(/\/\/.*?@/, '//')}\n`);
  await Promise.all(nodes.map((node) => node.stop()));
  await servers.stop();
});

test('connections that can only read are replaced, and no read is answered from the past', async () => {
  const servers = await startReplicatedPostgres();
  const proxy = await startFaultProxy(servers.portOf('primary'));
  const databaseUrl = servers.url('primary').replace(/:\d+\//, `:${proxy.port}/`);
  const node = await startService({ databaseUrl });
  const other = await startService({ databaseUrl: servers.url('primary', 'standby') });
  const { access_token: token } = await loginByMail(node.url, 'ada@example.com');

  // From its first poll that waits, a node has a connection that listens.
  const { body: started } = await request(node.url, 'POST', '/device');
  const poll = { headers: { Prefer: 'wait=1' }, json: { device_code: started.device_code } };
  expect((await request(node.url, 'POST', '/token', poll)).body.error).toBe('authorization_pending');

  // The former primary runs on, as one that was cut off, and the proxy knows the new one.
  const former = postgres(servers.url('primary'), { max: 1 });
  await former.unsafe('ALTER SYSTEM SET default_transaction_read_only = on');
  await former.unsafe('SELECT pg_reload_conf()');
  await servers.promoteStandby();
  proxy.redirect(servers.portOf('standby'));
  await until(async () => (await request(node.url, 'POST', '/device')).status === 200, 'the first node');

  await until(async () => (await request(other.url, 'POST', '/device')).status === 200, 'the other node');
  expect((await request(other.url, 'POST', '/revoke', { token })).status).toBe(204);
  expect((await request(node.url, 'GET', '/me', { token })).status).toBe(401);
  const current = postgres(servers.url('standby'), { max: 1 });
  await until(async () => {
    const rows = await current`SELECT 1 FROM pg_stat_activity WHERE application_name = 'latchkey listener'`;
    return rows.length > 0;
  }, 'a listener at the new primary');
  const ends = [former, current].map((sql) => sql.end({ timeout: 0 }));
  await Promise.all([node.stop(), other.stop(), ...ends]);
  await servers.stop();
});
