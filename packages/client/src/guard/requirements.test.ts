import { expect, test } from 'bun:test';
import fc from '#support/fc.ts';
import { callerOfToken } from './caller.ts';
import { combine, type Requirements, refusalFor } from './requirements.ts';

const now = 1_000_000_000;
const scopeNames = ['a', 'b', 'c'];
const acrValues = ['phr', 'phrh', 'other'];
const types = ['deployment', 'session'];

const subset = (values: readonly string[], minLength = 0) => fc.subarray([...values], { minLength });

const requirements: fc.Arbitrary<Requirements> = fc.record(
  {
    scopes: subset([...scopeNames, '*']),
    maxAgeSeconds: fc.integer({ min: 0, max: 3 }),
    acr: subset(acrValues, 1),
  },
  { requiredKeys: [] },
);

const caller = fc
  .record(
    {
      scope: subset([...scopeNames, '*']).map((names) => names.join(' ')),
      auth_time: fc.integer({ min: now - 4, max: now + 1 }),
      acr: fc.constantFrom(...acrValues),
      authorization_details: subset(types).map((list) => list.map((type) => ({ type }))),
    },
    { requiredKeys: [] },
  )
  .map((members) => callerOfToken({ active: true, sub: 'usr_a', sid: 'ses_a', exp: now + 60, ...members }));

test('requirements combined accept exactly the callers that each of them accepts', () => {
  const isAccepted = (who: ReturnType<typeof callerOfToken>, needed: Requirements) =>
    refusalFor(who, { ...needed, heeds: types }, now) === undefined;
  const outcomes = new Set<boolean>();
  fc.assert(
    fc.property(caller, fc.array(requirements, { minLength: 1, maxLength: 3 }), (who, all) => {
      const each = all.every((needed) => isAccepted(who, needed));
      outcomes.add(each);
      try {
        expect(isAccepted(who, all.reduce(combine, {}))).toBe(each);
      } catch (error) {
        // No sign-in is of a kind that all of them list.
        if (!(error instanceof RangeError)) throw error;
        expect(each).toBe(false);
      }
    }),
    { numRuns: 2_000 },
  );
  expect(outcomes.size).toBe(2);
});

test('a caller with authorization details is accepted only where every type is heeded', () => {
  fc.assert(
    fc.property(caller, subset(types), subset(types), (who, outer, inner) => {
      const heeded = new Set([...outer, ...inner]);
      const refusal = refusalFor(who, combine({ heeds: outer }, { heeds: inner }), now);
      expect(refusal === undefined).toBe(who.authorizationDetails.every(({ type }) => heeded.has(type)));
    }),
  );
});

test('every refusal fits into a header', () => {
  const quoted = /^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/;
  const anyType = fc.string({ unit: 'binary', maxLength: 120 });
  fc.assert(
    fc.property(anyType, requirements, (type, needed) => {
      const token = { active: true, sub: 'usr_a', sid: 'ses_a', exp: now + 60 } as const;
      const callers = [token, { ...token, authorization_details: [{ type }] }].map(callerOfToken);
      for (const who of callers) {
        const refusal = refusalFor(who, needed, now);
        for (const text of [refusal?.description ?? '', ...Object.values(refusal?.parameters ?? {})])
          expect(text).toMatch(quoted);
      }
    }),
  );
});
