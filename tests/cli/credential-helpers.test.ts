// How docker and kubectl are signed in, with what packages/cli/README.md says. git is in transcripts/credential.txt.

import { beforeAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newCertificate } from '#support/certificate.ts';
import { type Home, listener, newHome, runIn, storeLogin } from '#support/cli.ts';
import { service } from '#support/common-service.ts';
import { codeBlocks } from '#support/guides.ts';

let home: Home;

beforeAll(async () => {
  home = newHome({ LATCHKEY_SERVER: service.url });
  await storeLogin(home, service.url, 'ada@helpers.example');
});

/** Expects a token of a run that sees the profile and no address. */
async function expectLimited(token: string): Promise<void> {
  const { status, body } = await service.ask('GET', '/me', { token });
  expect([status, body.email]).toEqual([200, undefined]);
}

/** A block of the README, with a scope that exists here. */
async function recipe(language: string, content: string): Promise<string> {
  const blocks = await codeBlocks('packages/cli/README.md', language);
  const block = blocks.find((code) => code.includes(content)) ?? '';
  return block.replace(/images:pull|cluster:admin/, 'profile');
}

test('docker gets a limited token for the registry it asks for, and stores nothing', async () => {
  const helper = join(home.path, 'docker-credential-latchkey');
  writeFileSync(helper, await recipe('sh', 'ServerURL'), { mode: 0o700 });
  const ask = (operation: string, env = '') =>
    runIn(home, ['sh', '-c', `printf %s registry.example | ${env} "$0" ${operation}`, helper]);
  const { code, stdout } = await ask('get');
  const { ServerURL, Username, Secret } = JSON.parse(stdout);
  expect([code, ServerURL, Username]).toEqual([0, 'registry.example', 'oauth2']);
  await expectLimited(Secret);
  expect(await ask('store')).toMatchObject({ code: 0, stdout: '' });
  expect(await ask('get', 'LATCHKEY_ACCOUNT=nobody')).toMatchObject({ code: 1, stdout: '' });
});

const canRunKubernetes = Bun.which('kubectl') && Bun.which('openssl');

test.skipIf(!canRunKubernetes)('kubectl sends a limited token to the cluster', async () => {
  let authorization = '';
  // Kubernetes asks no helper for plain http.
  const { url: server } = listener(({ headers }) => {
    authorization = headers.get('Authorization') ?? '';
    return Response.json({ kind: 'Status' });
  }, newCertificate());
  const config = join(home.path, 'kubeconfig');
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    clusters: [{ name: 'test', cluster: { server, 'insecure-skip-tls-verify': true } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'latchkey' } }],
    ...(Bun.YAML.parse(await recipe('yaml', 'ExecCredential')) as object),
  };
  writeFileSync(config, JSON.stringify(kubeconfig), { mode: 0o600 });
  const get = ['kubectl', '--kubeconfig', config, 'get', '--raw', '/version'];
  expect(await runIn(home, get)).toMatchObject({ code: 0 });
  await expectLimited(authorization.replace('Bearer ', ''));
});
