// A standby that is promoted while the former primary runs on. One that is promoted because the primary was killed is in tests/faults.

import { expect, test } from 'bun:test';
import postgres from 'postgres';
import { startFaultProxy } from '#support/fault-proxy.ts';
import { startReplicatedPostgres } from '#support/replicated-postgres.ts';
import { startService } from '#support/service.ts';
import { until } from '#support/until.ts';

test('connections that can only read are replaced, and no read is answered from the past', async () => {
  const servers = await startReplicatedPostgres();
  const proxy = await startFaultProxy(servers.portOf('primary'));
  const databaseUrl = servers.url('primary').replace(/:\d+\//, `:${proxy.port}/`);
  const node = await startService({ databaseUrl });
  const other = await startService({ databaseUrl: servers.url('primary', 'standby') });
  const { access_token: token } = await node.login('ada@example.com');

  // From its first poll that waits, a node has a connection that listens.
  const { body: started } = await node.ask('POST', '/device');
  const poll = { headers: { Prefer: 'wait=1' }, json: { device_code: started.device_code } };
  expect((await node.ask('POST', '/token', poll)).body.error).toBe('authorization_pending');

  // The former primary runs on, as one that was cut off, and the proxy knows the new one.
  const former = postgres(servers.url('primary'), { max: 1 });
  await former.unsafe('ALTER SYSTEM SET default_transaction_read_only = on');
  await former.unsafe('SELECT pg_reload_conf()');
  await servers.promoteStandby();
  proxy.redirect(servers.portOf('standby'));
  await until(async () => (await node.ask('POST', '/device')).status === 200, 'the first node');

  await until(async () => (await other.ask('POST', '/device')).status === 200, 'the other node');
  expect((await other.ask('POST', '/revoke', { token })).status).toBe(204);
  expect((await node.ask('GET', '/me', { token })).status).toBe(401);
  const current = postgres(servers.url('standby'), { max: 1 });
  await until(async () => {
    const rows = await current`SELECT 1 FROM pg_stat_activity WHERE application_name = 'latchkey listener'`;
    return rows.length > 0;
  }, 'a listener at the new primary');
  await Promise.all([former, current].map((sql) => sql.end({ timeout: 0 })));
  await servers.stop();
});
