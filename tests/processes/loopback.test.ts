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
const ALL_PROXY = 'socks5://127.0.0.1:9999';
const https_proxy = 'http://ada:secret@127.0.0.1:9999';

test.each([
  ['Bun', {}, '', ''],
  ['Bun', { https_proxy }, 'https_proxy', 'Bun ignores HTTPS_PROXY'],
  ...(node
    ? ([
        ['Node.js', { ALL_PROXY, NODE_USE_ENV_PROXY: '1' }, 'HTTPS_PROXY', 'Node.js ignores ALL_PROXY'],
        ['Node.js', { ALL_PROXY }, '', 'Node.js ignores HTTPS_PROXY, ALL_PROXY'],
      ] as const)
    : []),
] as const)(
  '`doctor` on %s names the proxy settings that it ignores: %j',
  async (name, env, used, ignored) => {
    const onNode = [node!, '--no-warnings', '--experimental-strip-types'];
    const command = name === 'Bun' ? [process.execPath] : onNode;
    const servers = { LATCHKEY_SERVER: 'https://0.0.0.0:9999', HTTPS_PROXY: https_proxy };
    const { stdout } = await runIn(newHome({ ...servers, ...env }), [...command, main, 'doctor']);
    const inUse = new RegExp(`^- +Proxies +${used}=http://\\*\\*\\*@127.0.0.1:9999$`, 'm');
    if (used !== '') expect(stdout).toMatch(inUse);
    expect(/^! +Proxies +(.* ignores .*)$/m.exec(stdout)?.[1] ?? '').toBe(ignored);
    expect(stdout.includes('NODE_USE_ENV_PROXY=1')).toBe(ignored.includes('HTTPS_PROXY, '));
  },
);
