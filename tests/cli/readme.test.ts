// The commands of the README do what it says.

import { beforeAll, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { addNpx, type Home, loginAs, newHome, runIn } from '#support/cli.ts';
import { startService } from '#support/service.ts';
import { shared } from '#support/shared.ts';

const root = join(import.meta.dir, '../..');
const email = 'readme@example.com';
const service = shared(() => startService());
let home: Home;
let blocks: string[];

beforeAll(async () => {
  home = newHome({ ...service.env, LATCHKEY_SERVER: service.url });
  addNpx(home);
  const text = await Bun.file(join(root, 'README.md')).text();
  expect((await loginAs(home, service.url, email)).code).toBe(0);
  blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);
});

const run = (block: string) =>
  runIn(home, ['sh', '-ec', block.replaceAll('localhost:8787', new URL(service.url).host)]);

test('the README starts with starting the service, signing in and running the tests', () => {
  const commands = blocks[0]?.trim().split('\n') ?? [];
  expect(commands.map((line) => line.split('#')[0]?.trim())).toEqual([
    'npm start',
    'npx latchkey login',
    'npm test',
  ]);
});

test('after the sign-in, the README shows the account and its sessions', async () => {
  const { code, stdout, stderr } = await run(blocks[1] ?? '');
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(new RegExp(`^readme <${email}> at `));
  expect(stdout).toContain('(this one)');
  expect(JSON.parse(stdout.trim().split('\n').at(-1) ?? '')).toMatchObject({ email });
});

test('a service registered as in the README learns whose token it is', async () => {
  // `npm start` creates it.
  mkdirSync(join(home.path, 'data'));
  const { code, stdout } = await run(blocks[2] ?? '');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ active: true, token_type: 'Bearer' });
  expect(blocks).toHaveLength(3);
});
