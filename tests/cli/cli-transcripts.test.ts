// Every file in tests/cli/transcripts is run against a real service, and what comes of it must be what it says.
// `bun tests/support/renew-transcripts.ts` writes down anew what happens; read the difference before you keep it.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Scene, setScene } from '../support/scene.ts';
import { play } from '../support/transcript.ts';

const folder = join(import.meta.dir, 'transcripts');

let scene: Scene;

beforeAll(async () => {
  scene = await setScene();
});

afterAll(async () => {
  await scene.end();
});

describe('the command line as', () => {
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.txt'))) {
    test(name, async () => {
      const written = await Bun.file(join(folder, name)).text();
      expect(await play(written, scene)).toBe(written);
    });
  }
});
