// What clients see while one fault after another happens to the service. The long form: npm run test:faults.

import { expect, test } from 'bun:test';
import { isLong } from '../support/long.ts';
import { runFaults, type Store } from './run-faults.ts';

const seconds = isLong ? 60 : 2;

/** Those that need little time to recover. */
const quickFaults: Record<Store, readonly string[]> = {
  sqlite: [
    'kill -9 of a node',
    'torn WAL',
    'disk that returns errors',
    'descriptors used up',
    'in front of a node: half close',
    'mail server: duplicating',
  ],
  postgres: [
    'kill -9 of a worker',
    'clock of a node an hour ahead',
    'kill -9 of the primary, promotion of the standby',
    'between a node and the database: cut',
    'in front of a node: reorder',
    'mail server: duplicating',
  ],
};

// At the same time, because both mostly wait.
test.concurrent.skipIf(process.platform !== 'linux').each(['sqlite', 'postgres'] as const)(
  'whatever fails, nothing works twice, and nothing that was acknowledged is lost (%s)',
  async (store) => {
    const seed = Date.now() % 2 ** 32;
    const report = await runFaults({
      store,
      seconds,
      seed,
      ...(!isLong && { only: quickFaults[store], maxFaultMs: 400 }),
    });
    const { faults, violations, serverErrors } = report;
    expect({ seed, violations, serverErrors }).toEqual({ seed, violations: [], serverErrors: [] });
    // The run was not an empty one.
    expect(faults).not.toEqual({});
  },
  300_000,
);
