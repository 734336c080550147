// The program in the SDK's README does what the README says.

import { afterAll, beforeAll, test } from 'bun:test';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expectReadme, readmeProgram } from '../support/readme.ts';
import { startService } from '../support/service.ts';
import { shared } from '../support/shared.ts';

/** Inside the checkout, so that the packages resolve. */
const directory = join(import.meta.dir, '../../artifacts', `readme-${process.pid}`);

const service = shared(() => startService({ env: { LATCHKEY_DEVICE_POLL_INTERVAL: '1' } }));

beforeAll(() => mkdirSync(directory, { recursive: true }));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

test('the program in the README of the SDK signs in, refreshes its tokens and signs out', async () => {
  const program = join(directory, 'readme.ts');
  await Bun.write(program, await readmeProgram(service.url));
  await expectReadme(service.url, [process.execPath, program]);
});
