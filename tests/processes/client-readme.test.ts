// The program in the SDK's README does what the README says.

import { afterAll, beforeAll, test } from 'bun:test';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expectReadme, readmeProgram } from '../support/readme.ts';
import { startService, type TestService } from '../support/service.ts';

/** Inside the checkout, so that the packages resolve. */
const directory = join(import.meta.dir, '../../artifacts', `readme-${process.pid}`);

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
  const program = join(directory, 'readme.ts');
  await Bun.write(program, await readmeProgram(service.url));
  await expectReadme(service.url, [process.execPath, program]);
});
