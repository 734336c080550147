// What clients of three nodes and five services see while nodes and services are killed, connections break and transactions
// commit late. For longer: npm run test:history.

import { expect, test } from 'bun:test';
import { seed } from '../support/seed.ts';
import { endings } from './history.ts';
import { runHistory } from './run-history.ts';

const duration = { disturbedSeconds: 45, calmSeconds: 0 };

test('no token of any depth is accepted after its end, and no event of the feed is lost or out of order, whatever fails', async () => {
  const { violations, operations, faults, feedEvents, delays } = await runHistory(duration, seed);
  expect({ seed, violations }).toEqual({ seed, violations: [] });
  // The run was not an empty one.
  expect(endings.some((how) => operations[`end: ${how}`])).toBe(true);
  expect(operations).toMatchObject({
    'run of depth 3': expect.any(Number),
    'service: accepted': expect.any(Number),
    'service: refused': expect.any(Number),
    'node: refused': expect.any(Number),
  });
  expect(faults).toMatchObject({ 'killed node': expect.any(Number), 'killed service': expect.any(Number) });
  expect(feedEvents).toBeGreaterThan(0);
  expect(delays.disturbed.count).toBeGreaterThan(0);
});
