// npm run test:faults [-- SECONDS [sqlite|postgres [SEED [FAULT]]]]: as faults.long.test.ts, for so long. Without a store, both
// one after the other. With a fault, such as 'kill -9 of a node', only that one.

import { seed as chosenSeed } from '../support/seed.ts';
import { runFaults, type Store } from './run-faults.ts';

const maxPrinted = 50;
const storeNames: Record<Store, string> = {
  sqlite: 'one node on SQLite',
  postgres: 'three nodes on PostgreSQL',
};

const seconds = Number(process.argv[2] ?? 180);
const named = process.argv[3];
const stores: readonly Store[] =
  named === undefined ? ['sqlite', 'postgres'] : named === 'sqlite' || named === 'postgres' ? [named] : [];
const seed = Number(process.argv[4] ?? chosenSeed);
const fault = process.argv[5];

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

/** Returns whether there was no violation. */
async function runOn(store: Store): Promise<boolean> {
  print(`${seconds} s with faults, ${storeNames[store]}, seed ${seed}`);
  const report = await runFaults({ store, seconds, seed, only: fault });
  const { operations, faults, skipped, violations, mailsSentAgain, serverErrors } = report;
  print('\noperation             done  refused  no answer');
  for (const [kind, { done, refused, unknown }] of Object.entries(operations).toSorted())
    print(
      `${kind.padEnd(18)}${`${done}`.padStart(8)}${`${refused}`.padStart(9)}${`${unknown}`.padStart(11)}`,
    );
  print('\nfault                               times  longest recovery (ms)');
  for (const [name, { count, longestRecoveryMs }] of Object.entries(faults).toSorted())
    print(`${name.padEnd(34)}${`${count}`.padStart(7)}${`${longestRecoveryMs}`.padStart(23)}`);
  for (const reason of skipped) print(`not made: ${reason}`);
  const total = Object.values(operations).reduce((sum, counts) => sum + counts.done + counts.refused, 0);
  const times = Object.values(faults).reduce((sum, { count }) => sum + count, 0);
  print(
    `\n${total} operations answered, ${times} faults of ${Object.keys(faults).length} kinds, ${violations.length} violations; emails sent again because noting them failed: ${mailsSentAgain}; answers with 500: ${serverErrors.length}`,
  );
  for (const violation of violations.slice(0, maxPrinted)) print(violation);
  return violations.length === 0;
}

if (stores.length === 0 || !(seconds > 0)) {
  process.stderr.write('usage: npm run test:faults [-- SECONDS [sqlite|postgres [SEED [FAULT]]]]\n');
  process.exit(2);
}
const verdicts: boolean[] = [];
for (const store of stores) verdicts.push(await runOn(store));
process.exit(verdicts.every(Boolean) ? 0 : 1);
