// The program in the SDK's README does what the README says.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { loginByMail, request } from '../support/http.ts';
import { startService, type TestService } from '../support/service.ts';

const root = join(import.meta.dir, '../..');
/** Inside the checkout, so that the packages resolve. */
const directory = join(root, 'artifacts', `readme-${process.pid}`);

let service: TestService;

beforeAll(async () => {
  mkdirSync(directory, { recursive: true });
  service = await startService({ env: { LATCHKEY_DEVICE_POLL_INTERVAL: '1' } });
});

afterAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  await service.stop();
});

test('the program in the README of the SDK signs in, refreshes its tokens and signs out', async () => {
  const text = await Bun.file(join(root, 'packages/client/README.md')).text();
  const blocks = [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code]) => code);
  expect(blocks).toHaveLength(3);
  const program = join(directory, 'readme.ts');
  await Bun.write(program, blocks.join('').replace('http://localhost:8787', service.url));

  const child = Bun.spawn([process.execPath, program], { timeout: 20_000, stderr: 'inherit' });
  let out = '';
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    const before = out;
    out += decoder.decode(chunk, { stream: true });
    const code = /enter ([A-Z]{4}-[A-Z]{4})\n/.exec(out)?.[1];
    if (code && !/enter .*\n/.test(before)) await approve(code);
  }
  expect(await child.exited).toBe(0);
  expect(out.split('\n').slice(1)).toEqual([
    'Signed in as readme@example.com',
    'Organizations: 1',
    'not_logged_in, retryable: false',
    '',
  ]);
}, 30_000);

async function approve(user_code: string): Promise<void> {
  const { access_token: token } = await loginByMail(service.url, 'readme@example.com');
  const answer = await request(service.url, 'POST', '/device/approve', { json: { user_code }, token });
  expect(answer.status).toBe(204);
}
