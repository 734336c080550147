// A secret that cannot be printed does not come into being.

import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { generateKey } from '../../packages/server/src/platform/crypto/primitives.ts';
import { runOperator, runOperatorInto, temporaryDirectory } from '../support/service.ts';

const refused = {
  code: 1,
  stderr: expect.stringMatching(/^latchkey-server: Standard output .* Nothing was changed\.$/m),
};

test('a service key that cannot be printed is not made', async () => {
  const env = { DATABASE_URL: `sqlite:${join(temporaryDirectory(), 'latchkey.db')}` };
  const services = async () => (await runOperator(env, 'services', 'list', '--json')).stdout;
  await runOperator(env, 'migrate');
  for (const lost of ['>&-', '>/dev/null', '>/dev/full'])
    expect(await runOperatorInto(lost, env, 'services', 'create', 'tickets')).toEqual(refused);
  expect(await services()).toBe('');
  const created = await runOperator(env, 'services', 'create', 'billing');
  const [id = ''] = created.stdout.trim().split('\n').at(-1)!.split(':');
  expect(await runOperatorInto('>&-', env, 'services', 'rotate', id)).toEqual(refused);
  expect(JSON.parse(await services())).toMatchObject({ id, secrets: 1 });
  // The id of a public service is no secret.
  const page = ['services', 'create', 'page', '--public', '--redirect', 'http://localhost:3000/back'];
  expect((await runOperatorInto('>/dev/null', env, ...page)).code).toBe(0);
  const before = await services();
  expect(await runOperatorInto('>&-', env, ...page)).toEqual(refused);
  expect(await services()).toBe(before);
});

test('a ring to set that cannot be printed is a failure', async () => {
  const env = {
    DATABASE_URL: `sqlite:${join(temporaryDirectory(), 'latchkey.db')}`,
    LATCHKEY_KEYS: generateKey(),
  };
  await runOperator(env, 'migrate');
  expect(await runOperatorInto('>&-', env, 'keys', 'add')).toEqual(refused);
});
