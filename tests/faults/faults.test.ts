// What clients see while one fault after another happens to the service. The long form: npm run test:faults.

import { expect, test } from 'bun:test';
import { isLong, processDialects } from '../support/long.ts';
import { seed } from '../support/seed.ts';
import { runFaults } from './run-faults.ts';

const seconds = isLong ? 60 : 2;

/** Faults of SQLite that need little time to recover. */
const quickFaults = [
  'kill -9 of a node',
  'torn WAL',
  'disk that returns errors',
  'descriptors used up',
  'in front of a node: half close',
  'mail server: duplicating',
];

// At the same time, because both mostly wait. The short form leaves PostgreSQL, whose nodes take long to start, to the long one.
test.concurrent.skipIf(process.platform !== 'linux').each(processDialects)(
  'whatever fails, nothing works twice, and nothing that was acknowledged is lost (%s)',
  async (store) => {
    const report = await runFaults({
      store,
      seconds,
      seed,
      ...(!isLong && { only: quickFaults, maxFaultMs: 400 }),
    });
    const { faults, violations, serverErrors } = report;
    expect({ seed, violations, serverErrors }).toEqual({ seed, violations: [], serverErrors: [] });
    // The run was not an empty one.
    expect(faults).not.toEqual({});
  },
);
