// `npm run bench [-- name …]`: measures the table of docs/performance.md, or only the named kinds of requests and figures.
// Exits with 1 unless every promise is kept.

import { connections } from './figures/connections.ts';
import { costs } from './figures/costs.ts';
import { growth, growthPostgres } from './figures/growth.ts';
import { memory, memoryTenMinutes } from './figures/memory.ts';
import { runTree } from './figures/run-tree.ts';
import { start } from './figures/start.ts';
import { verifications } from './figures/verifications.ts';
import { moveToLoadCore, requireCores } from './support/cores.ts';
import { type Figure, isFinding, textOf, verdictOf } from './support/report.ts';
import { kindNames } from './table/kinds.ts';
import { runTable } from './table/table.ts';

const figures: readonly Figure[] = [
  memory,
  memoryTenMinutes,
  start,
  runTree,
  verifications,
  connections,
  growth,
  growthPostgres,
  costs,
];

const print = (text: string): void => void process.stdout.write(`${text}\n`);

async function measure(figure: Figure): Promise<boolean> {
  const measured = await figure.run();
  for (const each of measured) print(`\n${textOf(each)}`);
  return measured.filter(isFinding).every((finding) => verdictOf(finding) === 'kept');
}

const names = process.argv.slice(2).filter((name) => name !== 'table');
const chosen = figures.filter(({ name }) => names.includes(name));
const table = names.filter((name) => name.startsWith('--') || kindNames.includes(name));
const unknown = names.find(
  (name) => !table.includes(name) && !figures.some((figure) => figure.name === name),
);
if (unknown !== undefined) {
  const known = [...kindNames, ...figures.map(({ name }) => name)].join(', ');
  process.stderr.write(`bench: unknown name ${unknown}; choose from ${known}\n`);
  process.exit(2);
}
requireCores();
moveToLoadCore();

const runs = chosen.map((figure) => [figure.name, () => measure(figure)] as const);
if (chosen.length === 0 || table.length > 0 || process.argv.includes('table'))
  runs.unshift(['table', () => runTable(table, print)]);
let isKept = true;
for (const [name, run] of runs) {
  isKept =
    (await run().catch((error: unknown) => {
      process.stderr.write(`bench: ${name}: ${error instanceof Error ? error.message : error}\n`);
      return false;
    })) && isKept;
}
process.exit(isKept ? 0 : 1);
