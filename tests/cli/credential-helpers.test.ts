// How docker and kubectl are signed in, with what packages/cli/README.md says. git is in transcripts/credential.txt.

import { beforeAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Home, newHome, runIn, storeLogin } from '#support/cli.ts';
import { apiAt } from '#support/http.ts';
import { startService } from '#support/service.ts';
import { shared } from '#support/shared.ts';

const service = shared(() => startService({ env: { LATCHKEY_RATE_LIMITS: 'off' } }));
let home: Home;

beforeAll(async () => {
  home = newHome({ LATCHKEY_SERVER: service.url });
  await storeLogin(home, service.url, 'ada@helpers.example');
});

const profileStatus = (accessToken: string): Promise<unknown> =>
  apiAt(service.url)
    .call('getProfile', { accessToken })
    .then(
      ({ email }) => email ?? 'no address',
      (error) => error.code,
    );

/** A cluster that records what it is sent. Kubernetes asks no helper for plain http. */
async function startCluster(home: Home) {
  const [key, cert] = [join(home.path, 'key.pem'), join(home.path, 'cert.pem')];
  const options = '-x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost';
  await runIn(home, ['openssl', 'req', ...options.split(' '), '-keyout', key, '-out', cert]);
  const tokens: (string | undefined)[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    tls: { key: await Bun.file(key).text(), cert: await Bun.file(cert).text() },
    fetch: (request) => {
      tokens.push(request.headers.get('Authorization')?.replace('Bearer ', ''));
      return Response.json({ kind: 'Status' });
    },
  });
  return { host: `127.0.0.1:${server.port}`, tokens, stop: () => server.stop(true) };
}

/** A block of the README, with a scope that exists here. */
async function recipe(language: string, content: string): Promise<string> {
  const text = await Bun.file(join(import.meta.dir, '../../packages/cli/README.md')).text();
  const blocks = [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].filter(([, name]) => name === language);
  const block = blocks.find(([, , code]) => code?.includes(content))?.[2] ?? '';
  return block.replace('images:pull', 'profile').replace('cluster:admin', 'profile');
}

test('docker gets a limited token for the registry it asks for, and stores nothing', async () => {
  const helper = join(home.path, 'docker-credential-latchkey');
  writeFileSync(helper, await recipe('sh', 'ServerURL'), { mode: 0o700 });
  const ask = (operation: string, env = '') =>
    runIn(home, ['sh', '-c', `printf %s registry.example | ${env} "$0" ${operation}`, helper]);
  const { code, stdout } = await ask('get');
  const { ServerURL, Username, Secret } = JSON.parse(stdout);
  expect([code, ServerURL, Username]).toEqual([0, 'registry.example', 'oauth2']);
  expect(await profileStatus(Secret)).toBe('no address');
  expect(await ask('store')).toMatchObject({ code: 0, stdout: '' });
  expect(await ask('get', 'LATCHKEY_ACCOUNT=nobody')).toMatchObject({ code: 1, stdout: '' });
});

const canRunKubernetes = Bun.which('kubectl') && Bun.which('openssl');

test.skipIf(!canRunKubernetes)('kubectl sends a limited token to the cluster', async () => {
  const cluster = await startCluster(home);
  const config = join(home.path, 'kubeconfig');
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    clusters: [
      { name: 'test', cluster: { server: `https://${cluster.host}`, 'insecure-skip-tls-verify': true } },
    ],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'latchkey' } }],
    ...(Bun.YAML.parse(await recipe('yaml', 'ExecCredential')) as object),
  };
  writeFileSync(config, JSON.stringify(kubeconfig), { mode: 0o600 });
  const get = ['kubectl', '--kubeconfig', config, 'get', '--raw', '/version'];
  expect(await runIn(home, get)).toMatchObject({ code: 0 });
  await cluster.stop();
  expect(await profileStatus(cluster.tokens[0] ?? '')).toBe('no address');
});
