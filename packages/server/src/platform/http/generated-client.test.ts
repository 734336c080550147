import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { spawn } from 'bun';
import openapiTypescript, { astToString } from 'openapi-typescript';
import { startService, type TestService, temporaryDirectory } from '../../../../../tests/support/service.ts';

const root = join(import.meta.dir, '../../../../..');
const clientDirectory = join(root, 'tests/generated-client');

let service: TestService;
let generated: string;
beforeAll(async () => {
  service = await startService();
  generated = temporaryDirectory();
  const document = await (await fetch(`${service.url}/openapi.json`)).text();
  await Bun.write(join(generated, 'openapi.ts'), astToString(await openapiTypescript(document)));
});
afterAll(() => service.stop());

async function run(...command: string[]): Promise<{ code: number; output: string }> {
  const child = spawn(command, { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, output: stdout + stderr };
}

test('a client generated from the API document has the types that a program of the whole flow needs', async () => {
  const settings = {
    extends: join(root, 'tsconfig.json'),
    // Makes the program and the generated client siblings.
    compilerOptions: {
      rootDirs: [clientDirectory, generated],
      typeRoots: [join(root, 'node_modules/@types')],
    },
    include: [join(clientDirectory, 'program.ts'), join(generated, 'openapi.ts')],
    exclude: [],
  };
  const file = join(generated, 'tsconfig.json');
  await Bun.write(file, JSON.stringify(settings));
  const checked = await run(join(root, 'node_modules/.bin/tsc'), '-p', file, '--noEmit');
  expect(checked).toEqual({ code: 0, output: '' });
});

test('a generated client completes the whole flow on a real service, in JSON and with forms', async () => {
  const done = await run(process.execPath, join(clientDirectory, 'program.ts'), service.url);
  expect(done).toEqual({ code: 0, output: 'done\n' });
});
