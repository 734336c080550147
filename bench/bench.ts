// `npm run bench -- [figure …]`: measures the promised figures, or only the named ones, and reports whether each promise
// is kept. Exits with 1 unless all of them are. `npm run bench -- table` does the same for the table of docs/performance.md.

import { approval } from './figures/approval.ts';
import { beside } from './figures/beside.ts';
import { connections } from './figures/connections.ts';
import { costs } from './figures/costs.ts';
import { forged } from './figures/forged.ts';
import { growth, growthPostgres } from './figures/growth.ts';
import { heldPolls } from './figures/held-polls.ts';
import { knownAddresses } from './figures/known-addresses.ts';
import { largeAccount } from './figures/large-account.ts';
import { me } from './figures/me.ts';
import { memory, memoryTenMinutes } from './figures/memory.ts';
import { passkeyLogin } from './figures/passkey-login.ts';
import { refresh } from './figures/refresh.ts';
import { refreshPostgres } from './figures/refresh-postgres.ts';
import { runTree } from './figures/run-tree.ts';
import { securityLog } from './figures/security-log.ts';
import { size } from './figures/size.ts';
import { start } from './figures/start.ts';
import { token } from './figures/token.ts';
import { verifications } from './figures/verifications.ts';
import { workers } from './figures/workers.ts';
import { runFlame } from './flame/flame.ts';
import { moveToLoadCore, requireCores } from './support/cores.ts';
import { type Figure, type Finding, isFinding, resultOf, textOf, verdictOf } from './support/report.ts';
import { runTable } from './table/table.ts';

const figures: readonly Figure[] = [
  me,
  refresh,
  refreshPostgres,
  size,
  forged,
  memory,
  start,
  passkeyLogin,
  knownAddresses,
  heldPolls,
  approval,
  verifications,
  runTree,
  workers,
  token,
  beside,
];

/** Figures that are measured only by name: those without a promise, and one that takes long. */
const onlyByName: readonly Figure[] = [
  costs,
  connections,
  growth,
  growthPostgres,
  largeAccount,
  securityLog,
  memoryTenMinutes,
];

const print = (text: string): void => void process.stdout.write(`${text}\n`);

function chosenFigures(names: readonly string[]): readonly Figure[] {
  const all = [...figures, ...onlyByName];
  const unknown = names.filter((name) => !all.some((figure) => figure.name === name));
  if (unknown.length > 0) {
    const known = all.map(({ name }) => name).join(', ');
    process.stderr.write(`bench: unknown figure ${unknown.join(', ')}; choose from ${known}\n`);
    process.exit(2);
  }
  return names.length === 0 ? figures : all.filter(({ name }) => names.includes(name));
}

const [first, ...options] = process.argv.slice(2);
requireCores();
if (first === 'table' || first === 'flame') {
  moveToLoadCore();
  const run = first === 'table' ? runTable : runFlame;
  const isKept = await run(options, print).catch((error: unknown) => {
    process.stderr.write(`bench: ${error instanceof Error ? error.message : error}\n`);
    return false;
  });
  process.exit(isKept ? 0 : 1);
}
const chosen = chosenFigures(process.argv.slice(2));
moveToLoadCore();

const findings: Finding[] = [];
const failures: string[] = [];
for (const figure of chosen) {
  try {
    for (const measured of await figure.run()) {
      if (isFinding(measured)) findings.push(measured);
      print(`\n${textOf(measured)}`);
    }
  } catch (error) {
    failures.push(`${figure.name} could not be measured: ${error instanceof Error ? error.message : error}`);
    print(`\n${failures.at(-1)}`);
  }
}

print('');
for (const finding of findings) print(`${finding.what}: ${resultOf(finding)}`);
for (const failure of failures) print(failure);
process.exit(failures.length === 0 && findings.every((finding) => verdictOf(finding) === 'kept') ? 0 : 1);
