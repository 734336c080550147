// The credential helpers, run by the real programs.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Home, listener, newHome, runIn, storeLogin, storeOf } from '../support/cli.ts';
import { apiAt } from '../support/http.ts';
import { startService, type TestService } from '../support/service.ts';

let service: TestService;
let home: Home;

beforeAll(async () => {
  service = await startService({ env: { LATCHKEY_RATE_LIMITS: 'off' } });
  home = newHome({ LATCHKEY_SERVER: service.url, GIT_TERMINAL_PROMPT: '0', GIT_CONFIG_NOSYSTEM: '1' });
  await storeLogin(home, service.url, 'ada@helpers.example');
});

afterAll(async () => {
  await service.stop();
});

const profileStatus = (accessToken: string): Promise<unknown> =>
  apiAt(service.url)
    .call('getProfile', { accessToken })
    .then(
      ({ email }) => email ?? 'no address',
      (error) => error.code,
    );

test('git gets the token of the login for its own server, a limited one for a named host, and none for others', async () => {
  const helper = '!latchkey credential git --host git.example --scope profile';
  const fill = async (url: string) => {
    const command = `echo url=${url} | git -c credential.helper= -c credential.helper="${helper}" credential fill`;
    const { code, stdout } = await runIn(home, ['bash', '-c', command]);
    return { code, password: /^password=(.*)$/m.exec(stdout)?.[1] ?? '' };
  };
  const own = await fill(service.url);
  expect(own.code).toBe(0);
  expect(own.password).toBe(
    await storeOf(home, service.url)
      .read()
      .then((login) => login?.access_token ?? ''),
  );
  const named = await fill('https://git.example/a/b.git');
  expect(named.code).toBe(0);
  expect(await profileStatus(named.password)).toBe('no address');
  for (const url of [
    'https://other.example/a.git',
    'https://git.example:8443/a.git',
    'http://git.example/',
  ]) {
    expect(await fill(url)).toEqual({ code: 128, password: '' });
  }
});

test.skipIf(!Bun.which('kubectl'))('kubectl sends the token to the cluster', async () => {
  const seen: (string | null)[] = [];
  const cluster = listener((request) => {
    seen.push(request.headers.get('Authorization'));
    return Response.json({ kind: 'Status' });
  });
  const config = join(home.path, 'kubeconfig');
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: 'latchkey',
    args: ['credential', 'kubernetes', '--host', new URL(cluster.url).host, '--scope', 'profile'],
    interactiveMode: 'Never',
    provideClusterInfo: true,
  };
  writeFileSync(
    config,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'test',
      clusters: [{ name: 'test', cluster: { server: cluster.url } }],
      users: [{ name: 'ada', user: { exec } }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'ada' } }],
    }),
  );
  chmodSync(config, 0o600);
  const { code, stderr } = await runIn(home, ['kubectl', '--kubeconfig', config, 'get', '--raw', '/version']);
  await cluster.stop();
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const token = seen.at(-1)?.replace('Bearer ', '') ?? '';
  expect(await profileStatus(token)).toBe('no address');
});
