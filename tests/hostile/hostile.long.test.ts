// Requests that nobody should send, derived from the endpoint table. The long form: npm run test:hostile.

import { expect, test } from 'bun:test';
import { processDialects } from '#support/long.ts';
import { seed } from '#support/seed.ts';
import { startService } from '#support/service.ts';
import { attack } from './attack.ts';

const requests = 20_000;

test.each(processDialects)(
  'no hostile request gets a server error, hangs, or puts a secret in the log (%s)',
  async (dialect) => {
    const service = await startService({ dialect });
    const { statuses, violations } = await attack(service, { requests, seed });
    expect({ seed, violations }).toEqual({ seed, violations: [] });
    // Requests of every outcome reached the endpoints; 204 is too rare to count on.
    for (const status of [200, 400, 401, 403, 404, 405, 413, 415])
      expect([status, statuses[status] ?? 0]).not.toEqual([status, 0]);
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
    expect(await service.stop()).toBe(0);
  },
);
