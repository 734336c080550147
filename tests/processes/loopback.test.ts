// A proxy of the environment sees nothing of what goes to a server on this machine.

import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { latchkey, listener, newHome, runIn, storeLogin } from '../support/cli.ts';
import { findNode } from '../support/node.ts';
import { runOperator, startService } from '../support/service.ts';
import { runtimes, startWorker } from '../support/worker.ts';

const refusal = { error: 'invalid_token', error_description: 'No.', request_id: 'r' };

/** A proxy, and the settings that make every runtime use it. */
function openProxy() {
  const proxy = listener(() => new Response(null, { status: 502 }));
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'].flatMap((name) => [name, name.toLowerCase()]);
  return { ...proxy, env: Object.fromEntries(names.map((name) => [name, proxy.url])) };
}

test.each(runtimes)('the SDK sends no token for this machine to a proxy, on $name', async ({ command }) => {
  const proxy = openProxy();
  const server = listener(() => Response.json(refusal, { status: 401, headers: { 'X-Request-Id': 'r' } }));
  const settings = Object.entries({ ...proxy.env, NODE_USE_ENV_PROXY: '1' }).map(
    ([name, value]) => `${name}=${value}`,
  );
  const worker = startWorker(['env', ...settings, ...command], 'loopback-worker.ts', server.url);
  await worker.finish();
  expect(server.received).toHaveLength(6);
  expect(proxy.received).toEqual([]);
  await Promise.all([proxy.stop(), server.stop()]);
});

test('neither do the command line and the program of the operator', async () => {
  const proxy = openProxy();
  const service = await startService();
  const home = newHome({ ...proxy.env, LATCHKEY_SERVER: service.url });
  await storeLogin(home, service.url, 'ada@example.com');
  expect((await latchkey(home, 'whoami')).stdout).toContain('ada@example.com');
  expect((await latchkey(home, 'doctor')).stdout).toContain('; not used for a server on this machine');
  for (const command of ['health', 'doctor'])
    expect((await runOperator({ ...service.env, ...proxy.env }, command)).code).toBe(0);
  expect(proxy.received).toEqual([]);
  await Promise.all([proxy.stop(), service.stop()]);
});

const node = findNode();
test.skipIf(node === undefined)('`doctor` on Node.js names the proxy settings that it ignores', async () => {
  const doctor = async (env: Record<string, string>) => {
    const home = newHome({
      LATCHKEY_SERVER: 'https://0.0.0.0:9999',
      HTTPS_PROXY: 'http://ada:secret@127.0.0.1:9999',
      ALL_PROXY: 'socks5://127.0.0.1:9999',
      ...env,
    });
    const main = join(import.meta.dir, '../../packages/cli/src/main.ts');
    return (await runIn(home, [node!, '--no-warnings', '--experimental-strip-types', main, 'doctor'])).stdout;
  };
  const told = await doctor({ NODE_USE_ENV_PROXY: '1' });
  expect(told).toMatch(/^- +Proxies +HTTPS_PROXY=http:\/\/\*\*\*@127.0.0.1:9999$/m);
  expect(told).toMatch(/^! +Proxies +Node\.js ignores ALL_PROXY$/m);
  const untold = await doctor({});
  expect(untold).toMatch(/^! +Proxies +Node\.js ignores HTTPS_PROXY, ALL_PROXY$/m);
  expect(untold).toContain('NODE_USE_ENV_PROXY=1');
});
