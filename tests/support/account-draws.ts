// What is drawn for each step of a random sequence.

import fc from '#support/fc.ts';
import { type Access, builds, day, names, tickets, tooMany } from './account-model.ts';
import type { Decision } from './devices.ts';

const scope = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(undefined, undefined, '*') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('', 'unknown', '* unknown', 'profile *', 'PROFILE', 'profile  email', tooMany),
  },
  { weight: 4, arbitrary: fc.shuffledSubarray(names, { minLength: 1 }).map((some) => some.join(' ')) },
);
const resource = fc.constantFrom(undefined, undefined, undefined, tickets, builds, '', `${tickets}/`);
const access = fc.record({ scope, resource }).map((asked) => JSON.parse(JSON.stringify(asked)) as Access);
/** An index counted from the newest item, so that recent items are picked most often. */
const which = fc.oneof(
  { weight: 6, arbitrary: fc.constant(0) },
  { weight: 3, arbitrary: fc.nat(3) },
  { weight: 1, arbitrary: fc.nat(20) },
);

/** What is drawn for each step. */
export const draws = {
  /** How many seconds pass before it. */
  lapse: fc.constantFrom(0, 0, 0, 1),
  among: fc.constantFrom('all', 'browsers', 'live', 'live browsers'),
  ...{ session: which, token: which, other: which, device: which, link: which, place: fc.nat(3) },
  nth: fc.nat(1_000),
  either: fc.boolean(),
  isConfirmed: fc.constantFrom(true, true, true, false),
  key: fc.constantFrom(undefined, 'a', 'a', 'b'),
  times: fc.constantFrom(1, 1, 3, 20),
  access,
  repeated: fc.oneof({ weight: 3, arbitrary: fc.constant<Access>({}) }, { weight: 1, arbitrary: access }),
  /** An endpoint takes JSON, and some take a form, too. */
  way: fc.constantFrom('JSON', '/token', '/refresh'),
  method: fc.constantFrom('POST', 'DELETE'),
  proof: fc.constantFrom('link', 'code', 'wrong code'),
  decision: fc.constantFrom<Decision[]>('approve', 'approve', 'deny', 'verify'),
  seconds: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(1, 4, 5, 10, 11) },
    { weight: 3, arbitrary: fc.constantFrom(60, 61, 300, 600, 601, 901) },
    { weight: 1, arbitrary: fc.constantFrom(14_400, 29 * day) },
  ),
  leap: fc.constantFrom(1, 90, -30, 3_600, day / 2, -2, 3 * day),
};
export type Drawn = {
  [Name in keyof typeof draws]: (typeof draws)[Name] extends fc.Arbitrary<infer T> ? T : never;
};

/** What is asked once, and with nothing of its own. */
export const plainly = { key: undefined, repeated: {}, way: 'JSON', times: 1 } as const;
