// The commands of the README do what it says.

import { beforeAll, expect, test } from 'bun:test';
import { loginAs } from '#support/cli.ts';
import { allBlocks, openTerminal, readerOf, runWell, type Terminal } from '#support/guides.ts';
import { linesIn, startService } from '#support/service.ts';
import { shared } from '#support/shared.ts';

const email = 'readme@example.com';
const service = shared(() => startService());
const [start, look, register] = await allBlocks('README.md', 'sh', 3);
let terminal: Terminal;

beforeAll(async () => {
  const home = readerOf(service);
  terminal = openTerminal(home, { 'localhost:8787': new URL(service.url).host });
  expect((await loginAs(home, service.url, email)).code).toBe(0);
});

/** The object on the last line that a block prints. */
const lastOf = (output: string) => JSON.parse(linesIn(output).at(-1) ?? '');

test('the README starts with starting the service, signing in and running the tests', () => {
  const commands = linesIn(start).map((line) => line.split('#')[0]?.trim());
  expect(commands).toEqual(['npm start', 'npx latchkey login', 'npm test']);
});

test('after the sign-in, the README shows the account and its sessions', async () => {
  const output = await runWell(terminal, look);
  expect(output).toMatch(new RegExp(`^readme <${email}> at `));
  expect(output).toContain('(this one)');
  expect(lastOf(output)).toMatchObject({ email });
});

test('a service registered as in the README learns whose token it is', async () => {
  expect(lastOf(await runWell(terminal, register))).toMatchObject({ active: true, token_type: 'Bearer' });
});
