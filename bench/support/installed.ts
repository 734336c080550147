// The service as it is installed.

import { join } from 'node:path';
import { temporaryDirectory } from '../../tests/support/service.ts';
import { server } from '../../tools/release/programs.ts';
import { buildSingleFile } from '../../tools/release/single-file.ts';

/** Compiles the service into a single file, and returns the command that runs it. */
export async function installedServeCommand(): Promise<string[]> {
  const file = join(temporaryDirectory(), server.name);
  await buildSingleFile(server, file, undefined);
  return [file, 'serve'];
}
