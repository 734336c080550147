// What the command line sends and to whom, and that hostile servers and directories do no harm.

import { expect, test } from 'bun:test';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { latchkeyProcess, listener, newHome, plantCode, program, runIn, storeLogin } from '#support/cli.ts';
import { service } from '#support/common-service.ts';

test('neither .env nor any code in the current directory has any effect', async () => {
  const home = newHome();
  const counting = listener(() => new Response());
  writeFileSync(join(home.path, '.env'), `LATCHKEY_SERVER=${counting.url}\n`);
  plantCode(home.path);
  const { code, stdout, stderr } = await latchkeyProcess(home, 'whoami');
  expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
  expect(stderr).not.toContain(counting.url);
  expect(counting.received).toEqual([]);
  expect(existsSync(join(home.path, 'ran'))).toBe(false);
});

test.skipIf(process.getuid?.() !== 0)(
  'without a home directory everything works that needs no login stored',
  async () => {
    const { HOME: _, ...homeless } = newHome({ LATCHKEY_SERVER: service.url }).env;
    const stranger = ['setpriv', '--reuid=54321', '--regid=54321', '--clear-groups', program];
    const run = (extra: Record<string, string>, ...args: string[]) =>
      runIn({ path: '/', env: { ...homeless, ...extra } }, [...stranger, ...args]);
    const { access_token: LATCHKEY_TOKEN } = await service.login('homeless@example.com');
    expect((await run({}, '--version')).code).toBe(0);
    expect((await run({}, 'help', 'login')).code).toBe(0);
    expect((await run({ LATCHKEY_TOKEN }, 'whoami')).stdout).toContain('homeless@example.com');
    expect((await run({ LATCHKEY_TOKEN }, 'doctor')).code).toBe(0);
    const job = { LATCHKEY_SERVER: '', LATCHKEY_ID_TOKEN: 'not.a.token' };
    // Whatever listens at the default address, or nothing: it is asked.
    expect((await run(job, 'token', '--federated', 'key_1')).stderr).not.toContain('no home directory');
    for (const LATCHKEY_CREDENTIALS of ['file', 'keychain', ''])
      for (const command of ['login', 'whoami', 'doctor']) {
        const { code, stdout, stderr } = await run({ LATCHKEY_CREDENTIALS }, command);
        const says = command === 'doctor' ? stdout : stderr;
        expect([code, says]).toEqual([2, expect.stringContaining('There is no home directory to store')]);
        if (command === 'doctor') expect(stdout).toMatch(/^ok +Server/m);
      }
    const elsewhere = { XDG_CONFIG_HOME: '/dev/null/config' };
    expect((await run(elsewhere, 'whoami')).stderr).not.toContain('home directory');
  },
);

test('a proxy receives requests only with --insecure-http, and none for hosts in NO_PROXY', async () => {
  const proxy = listener((request) => {
    const { pathname } = new URL(request.url);
    return fetch(service.url + pathname, { headers: request.headers });
  });
  const address = 'http://latchkey.invalid';
  const home = newHome({ HTTP_PROXY: proxy.url, LATCHKEY_SERVER: address });
  await storeLogin(home, service.url, 'proxied@example.com', address);
  const refused = await latchkeyProcess(home, 'whoami');
  expect([refused.code, refused.stdout, proxy.received]).toEqual([2, '', []]);
  const through = await latchkeyProcess(home, 'whoami', '--insecure-http');
  expect(through.stdout).toContain('proxied@example.com');
  expect(proxy.received).toHaveLength(1);
  expect(proxy.received[0]?.host).toBe('latchkey.invalid');
  const around = await runIn({ ...home, env: { ...home.env, NO_PROXY: 'latchkey.invalid' } }, [
    program,
    'whoami',
    '--insecure-http',
  ]);
  expect(around.code).toBe(4);
  expect(proxy.received).toHaveLength(1);
});
