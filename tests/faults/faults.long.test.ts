// What clients see while each fault happens to the service once. For longer: npm run test:faults.

import { expect, test } from 'bun:test';
import { seed } from '#support/seed.ts';
import { runFaults } from './run-faults.ts';

// At the same time, because both mostly wait.
test.concurrent.skipIf(process.platform !== 'linux').each(['sqlite', 'postgres'] as const)(
  'whatever fails, nothing works twice, and nothing that was acknowledged is lost (%s)',
  async (store) => {
    const { recoveries, violations, serverErrors } = await runFaults({ store, seconds: 0, seed });
    expect({ seed, violations, serverErrors }).toEqual({ seed, violations: [], serverErrors: [] });
    expect(recoveries.size).toBeGreaterThan(10);
    const failover = recoveries.has('kill -9 of the primary, promotion of the standby');
    expect(failover).toBe(store === 'postgres');
  },
);
