// What clients see while one fault after another happens to the service. For longer: npm run test:faults.

import { expect, test } from 'bun:test';
import { seed } from '#support/seed.ts';
import { runFaults } from './run-faults.ts';

// At the same time, because both mostly wait.
test.concurrent.skipIf(process.platform !== 'linux').each(['sqlite', 'postgres'] as const)(
  'whatever fails, nothing works twice, and nothing that was acknowledged is lost (%s)',
  async (store) => {
    const { recoveries, violations, serverErrors } = await runFaults({ store, seconds: 60, seed });
    expect({ seed, violations, serverErrors }).toEqual({ seed, violations: [], serverErrors: [] });
    // The run was not an empty one.
    expect(recoveries.size).toBeGreaterThan(0);
  },
);
