// Runs the commands of every file in tests/cli/transcripts against a real service and compares their output.
// `bun tools/renew-transcripts.ts` rewrites the files; read the difference before you commit it.

import { describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setScene } from '#support/scene.ts';
import { shared } from '#support/shared.ts';
import { play } from '#support/transcript.ts';

const folder = join(import.meta.dir, 'transcripts');

const scene = shared(setScene);

describe('the command line behaves as written in', () => {
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.txt'))) {
    test(name, async () => {
      const written = await Bun.file(join(folder, name)).text();
      expect(await play(written, scene)).toBe(written);
    });
  }
});
