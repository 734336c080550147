// npm run test:history [-- SECONDS [SEED]]: as history.long.test.ts, for so long.

import { seed as chosenSeed } from '../support/seed.ts';
import { runHistory } from './run-history.ts';

const maxPrinted = 50;
const seconds = Number(process.argv[2] ?? 60);
const seed = Number(process.argv[3] ?? chosenSeed);

/** The share without faults, for the delays that are promised for it. */
const calmSeconds = Math.ceil(seconds / 4);
const duration = { disturbedSeconds: seconds - calmSeconds, calmSeconds };

const { violations, ...result } = await runHistory(duration, seed);
const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};
print(JSON.stringify({ seconds, seed, ...result, violations: violations.length }));
for (const violation of violations.slice(0, maxPrinted)) print(violation);
process.exit(violations.length > 0 ? 1 : 0);
