// `npm run bench -- flame KIND [sqlite|postgres]`: where the service spends its time on one kind of request, as a picture in
// docs/images/.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../../tests/support/service.ts';
import { serveCommand } from '../support/service.ts';
import { kindNames, kinds } from '../table/kinds.ts';
import { openSides, sidesOf } from '../table/sides.ts';
import { drawFlameGraph, foldProfile, type Profile, sharesOf } from './flame-graph.ts';

const sessions = 100_000;
const warmUpRounds = 2;
const profiledRounds = 5;
const profileName = 'service.cpuprofile';
const samplingMicros = 250;

const images = join(import.meta.dir, '../../docs/images');

export async function runFlame(options: readonly string[], print: (text: string) => void): Promise<boolean> {
  const [name = 'me', store = 'sqlite'] = options;
  const kind = kinds.find(({ floor }) => floor === name);
  if (!kind || (store !== 'sqlite' && store !== 'postgres'))
    throw new Error(`choose from ${kindNames.join(', ')}, and sqlite or postgres`);
  const directory = temporaryDirectory();
  const profiler = ['--cpu-prof', `--cpu-prof-dir=${directory}`, `--cpu-prof-name=${profileName}`];
  const [bun, ...rest] = serveCommand;
  const command = [bun!, ...profiler, `--cpu-prof-interval=${samplingMicros}`, ...rest];
  const sides = await openSides(store, { sessions, peers: [], command });
  const { list, stop } = await sidesOf(kind, sides, { withBare: false });
  const service = list[0]!;
  for (let round = 0; round < warmUpRounds; round++) await service.run();
  const startedAt = performance.now();
  for (let round = 0; round < profiledRounds; round++) await service.run();
  const lastMicros = (performance.now() - startedAt) * 1000;
  await sides.stop();
  await stop();

  const profile: Profile = JSON.parse(readFileSync(join(directory, profileName), 'utf8'));
  const root = foldProfile(profile, lastMicros);
  const path = join(images, `flame-${name}-${store}.svg`);
  await Bun.write(
    path,
    drawFlameGraph(root, `${kind.name}, ${store === 'sqlite' ? 'SQLite' : 'PostgreSQL'}`),
  );
  for (const { place, share } of sharesOf(root)) print(`${place}: ${Math.round(share * 100)}%`);
  print(path);
  return root.samples > 0;
}
