// Nodes on a primary with a standby that is promoted when the primary is lost. Under load, and with other faults, in tests/faults.

import { expect, test } from 'bun:test';
import postgres from 'postgres';
import { startFaultProxy } from '#support/fault-proxy.ts';
import { deviceTokens, loginByMail, request } from '#support/http.ts';
import { startReplicatedPostgres } from '#support/replicated-postgres.ts';
import { runOperator, startService } from '#support/service.ts';
import { until } from '#support/until.ts';

const revocations = 16;

test('when the primary is killed, nodes say 503, and go on with the promoted standby and all that was acknowledged, in whatever order both are named', async () => {
  const servers = await startReplicatedPostgres();
  const orders = [servers.url('primary', 'standby'), servers.url('standby', 'primary')];
  const nodes = await Promise.all(orders.map((databaseUrl) => startService({ databaseUrl })));
  const { access_token: token } = await loginByMail(nodes[0]!.url, 'eva@example.com');
  const logins = Array.from({ length: revocations }, () => deviceTokens(nodes[0]!.url, token));
  const revoked: string[] = [];
  const revoking = (await Promise.all(logins)).map(async ({ access_token }, index) => {
    const ask = { token: access_token, json: { scope: 'session' } };
    const { status } = await request(nodes[index % 2]!.url, 'POST', '/revoke', ask);
    if (status === 204) revoked.push(access_token);
    else expect(status).toBe(503);
  });
  await until(() => revoked.length >= revocations / 4, 'a quarter of the revocations');
  servers.killPrimary();
  await Promise.all(revoking);
  for (const { url } of nodes) {
    await until(async () => !(await fetch(`${url}/readyz`)).ok, 'a node without its primary');
    const refused = await fetch(`${url}/api/v1/auth/device`, { method: 'POST' });
    expect([refused.status, Number(refused.headers.get('Retry-After')) > 0]).toEqual([503, true]);
  }
  await servers.promoteStandby();
  for (const { url } of nodes) {
    const me = () => request(url, 'GET', '/me', { token });
    await until(async () => (await me()).status !== 503, 'a node that goes on');
    expect((await me()).body.email).toBe('eva@example.com');
  }
  for (const ended of revoked)
    expect((await request(nodes[1]!.url, 'GET', '/me', { token: ended })).status).toBe(401);
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
