// A proxy of the environment sees nothing of what goes to a server on this machine.

import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { latchkeyProcess, listener, newHome, runIn, storeLogin } from '#support/cli.ts';
import { findNode } from '#support/node.ts';
import { runOperatorProcess, startService } from '#support/service.ts';
import { until } from '#support/until.ts';
import { runtimes, startWorker } from '#support/worker.ts';

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
});

test('neither do the command line and the program of the operator', async () => {
  const proxy = openProxy();
  const service = await startService();
  const home = newHome({ ...proxy.env, LATCHKEY_SERVER: service.url });
  await storeLogin(home, service.url, 'ada@example.com');
  expect((await latchkeyProcess(home, 'whoami')).stdout).toContain('ada@example.com');
  expect((await latchkeyProcess(home, 'doctor')).stdout).toContain('; not used for a server on this machine');
  for (const command of ['health', 'doctor'])
    await until(
      async () => (await runOperatorProcess({ ...service.env, ...proxy.env }, command)).code === 0,
      `${command} to find the service`,
    );
  expect(proxy.received).toEqual([]);
});

const main = join(import.meta.dir, '../../packages/cli/src/main.ts');
const node = findNode();

/** What `doctor` prints about a server on another machine. */
async function doctor(command: readonly string[], env: Record<string, string>): Promise<string> {
  const home = newHome({
    LATCHKEY_SERVER: 'https://0.0.0.0:9999',
    HTTPS_PROXY: 'http://ada:secret@127.0.0.1:9999',
    ...env,
  });
  return (await runIn(home, [...command, main, 'doctor'])).stdout;
}

const inUse = (name: string) => new RegExp(`^- +Proxies +${name}=http://\\*\\*\\*@127.0.0.1:9999$`, 'm');

test('`doctor` names the proxy settings that its runtime ignores', async () => {
  const https_proxy = 'http://ada:secret@127.0.0.1:9999';
  const output = await doctor([process.execPath], { https_proxy });
  expect(output).toMatch(inUse('https_proxy'));
  expect(output).toMatch(/^! +Proxies +Bun ignores HTTPS_PROXY$/m);
  expect(await doctor([process.execPath], {})).not.toContain('ignores');
});

test.skipIf(node === undefined)('and so it does on Node.js', async () => {
  const command = [node!, '--no-warnings', '--experimental-strip-types'];
  const ALL_PROXY = 'socks5://127.0.0.1:9999';
  const told = await doctor(command, { NODE_USE_ENV_PROXY: '1', ALL_PROXY });
  expect(told).toMatch(inUse('HTTPS_PROXY'));
  expect(told).toMatch(/^! +Proxies +Node\.js ignores ALL_PROXY$/m);
  const untold = await doctor(command, { ALL_PROXY });
  expect(untold).toMatch(/^! +Proxies +Node\.js ignores HTTPS_PROXY, ALL_PROXY$/m);
  expect(untold).toContain('NODE_USE_ENV_PROXY=1');
});
