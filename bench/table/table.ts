// `npm run bench -- table [--short] [--keep] [kind …]`: every kind of request on both stores, beside its floor and other services, all
// in one run. `--keep` puts the result into docs/performance.md.

import { join } from 'node:path';
import type { Dialect } from '../../packages/server/src/platform/database/executor.ts';
import { watchOthers } from '../support/others.ts';
import { runRounds, type Sample } from '../support/rounds.ts';
import { type PeerName, peerNames } from '../support/service.ts';
import { type Kind, kindNames, kinds } from './kinds.ts';
import { markdownOf, type Row, reachesTargets } from './markdown.ts';
import { openSides, type Sides, sidesOf } from './sides.ts';

interface Extent {
  readonly sessions: number;
  readonly rounds: number;
  /** How many rounds come before those that count: the more code a side has, the longer it takes to be compiled. */
  readonly warmUps: number;
  readonly peers: readonly PeerName[];
}

const full: Extent = { sessions: 100_000, rounds: 5, warmUps: 3, peers: peerNames };
const short: Extent = { sessions: 10_000, rounds: 1, warmUps: 1, peers: ['better-auth'] };

const resultFile = join(import.meta.dir, '../../artifacts/performance.md');
const page = join(import.meta.dir, '../../docs/performance.md');
/** What the page has between these lines is measured. */
const marks = ['<!-- measured -->\n', '<!-- /measured -->'] as const;

/** Replaces what a page has between the marks. */
function withMeasured(text: string, measured: string): string {
  const [start, end] = marks;
  const [before, rest = ''] = text.split(start);
  const [, after] = rest.split(end);
  if (after === undefined) throw new Error('the page has no place for what is measured');
  return `${before}${start}\n${measured}\n${end}${after}`;
}

async function measure(kind: Kind, sides: Sides, { rounds, warmUps }: Extent) {
  const { list, stop } = await sidesOf(kind, sides);
  try {
    return await runRounds(list, { counted: rounds, warmUps, warmedUp: sides.tidy });
  } finally {
    await stop();
  }
}

/** Measures the kinds on one store. One that cannot be measured is reported and left out. */
async function* measureStore(
  dialect: Dialect,
  chosen: readonly Kind[],
  extent: Extent,
  print: (text: string) => void,
): AsyncGenerator<Row> {
  const sides = await openSides(dialect, extent);
  for (const kind of chosen) {
    const othersShare = watchOthers(sides.families);
    try {
      const samples: ReadonlyMap<string, readonly Sample[]> = await measure(kind, sides, extent);
      yield { kind, dialect, samples, othersShare: othersShare() };
      print(`${kind.name}, ${dialect}: measured`);
    } catch (error) {
      print(`${kind.name}, ${dialect}: ${error instanceof Error ? error.message : error}`);
    }
  }
  await sides.stop();
}

/**
 * Measures the table, prints it as Markdown and writes it to `artifacts/`. False unless everything was measured and every
 * promised ratio reached.
 */
export async function runTable(options: readonly string[], print: (text: string) => void): Promise<boolean> {
  const names = options.filter((option) => !option.startsWith('--'));
  const unknown = names.find((name) => !kindNames.includes(name));
  if (unknown) throw new Error(`unknown kind ${unknown}; choose from ${kindNames.join(', ')}`);
  const chosen = kinds.filter(({ floor }) => names.length === 0 || names.includes(floor));
  const extent = options.includes('--short') ? short : full;
  const rows: Row[] = [];
  const result = () => markdownOf(rows, extent);
  for (const dialect of ['sqlite', 'postgres'] as const) {
    for await (const row of measureStore(dialect, chosen, extent, print)) {
      rows.push(row);
      await Bun.write(resultFile, result());
    }
  }
  const isComplete = rows.length === 2 * chosen.length;
  if (isComplete && options.includes('--keep'))
    await Bun.write(page, withMeasured(await Bun.file(page).text(), result()));
  print(`\n${result()}`);
  return isComplete && rows.every(reachesTargets);
}
