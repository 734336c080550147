import { join } from 'node:path';

/** The source of `latchkey-server`, which Bun runs. */
const serverSource: readonly string[] = [
  process.execPath,
  join(import.meta.dir, '../../packages/server/src/main.ts'),
];

/** The executable that `npm test` compiled, if it did. */
export const compiledServer: string | undefined = process.env['LATCHKEY_TEST_SERVER'];

/**
 * How to run `latchkey-server`: the compiled executable, as people get it, since it starts in a fifth of the time. Without
 * one, from source.
 */
export const serverProgram: readonly string[] = compiledServer ? [compiledServer] : serverSource;
