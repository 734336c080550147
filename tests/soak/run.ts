// npm run test:soak [-- MINUTES [sqlite|postgres]]: the long form of soak.long.test.ts. Without a store, both one after the other.

import { seed } from '../support/seed.ts';
import { sampleHeading, sampleLine, trendLines } from './report.ts';
import { runSoak, type Store } from './run-soak.ts';
import { trendsOf } from './trends.ts';

const storeNames: Record<Store, string> = { sqlite: 'SQLite', postgres: 'PostgreSQL' };

const minutes = Number(process.argv[2] ?? 30);
const named = process.argv[3];
const stores: readonly Store[] =
  named === undefined ? ['sqlite', 'postgres'] : named === 'sqlite' || named === 'postgres' ? [named] : [];

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

/** Returns whether nothing was unexpected, and everything flat that was judged. */
async function soakOn(store: Store): Promise<boolean> {
  print(`${storeNames[store]}, ${minutes} minutes`);
  print(sampleHeading);
  const soak = {
    store,
    seconds: minutes * 60,
    sampleSeconds: 10,
    fullSeconds: 10,
    seed,
  };
  const result = await runSoak(soak, (sample) => print(sampleLine(sample)));
  const { samples, fullRate, kinds, missing, unexpected, unexpectedCount, exitCode, isJudged } = result;
  const trends = trendsOf(samples);
  const total = Object.values(kinds).reduce((sum, count) => sum + count, 0);

  print('');
  for (const line of trendLines(trends, isJudged)) print(line);
  print('');
  print(
    `Half of ${Math.round(fullRate)} requests/s; ${total} requests of ${Object.keys(kinds).length} kinds.`,
  );
  for (const kind of missing) print(`Never sent: ${kind}`);
  for (const answer of unexpected) print(`Unexpected: ${answer}`);
  print(`${unexpectedCount} unexpected answers; the service exited with ${exitCode}.`);
  const isFlat = !isJudged || trends.every((trend) => trend.isFlat);
  return isFlat && unexpectedCount === 0 && missing.length === 0 && exitCode === 0;
}

if (stores.length === 0 || !(minutes * 60 >= 10)) {
  process.stderr.write('usage: npm run test:soak [-- MINUTES [sqlite|postgres]]\n');
  process.exit(2);
}
const verdicts: boolean[] = [];
for (const store of stores) verdicts.push(await soakOn(store));
const isGood = verdicts.every(Boolean);
print(isGood ? 'passed' : 'failed');
process.exit(isGood ? 0 : 1);
