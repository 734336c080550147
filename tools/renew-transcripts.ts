// Rewrites the transcripts from what their commands do now: all of them, or those named (`login.txt`).

import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setScene } from '#support/scene.ts';
import { play } from '#support/transcript.ts';

const folder = join(import.meta.dir, '../tests/cli/transcripts');
const names = process.argv.slice(2);
const scene = await setScene();
for (const name of names.length > 0 ? names : readdirSync(folder).filter((file) => file.endsWith('.txt'))) {
  const path = join(folder, name);
  writeFileSync(path, await play(await Bun.file(path).text(), scene));
}
await scene.stop();
process.exit(0);
