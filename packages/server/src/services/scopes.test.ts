import { expect, test } from 'bun:test';
import { fieldLimits } from '@latchkey/contract/field-limits';
import { checkAuthorizationDetails } from './scopes.ts';

/** Details of so many bytes as JSON. */
const ofBytes = (bytes: number, letter = 'x') => {
  const room = bytes - JSON.stringify([{ type: '' }]).length;
  return [{ type: letter.repeat(Math.floor(room / Buffer.byteLength(letter))).padEnd(1) }];
};

const wrong = [
  ...[null, {}, { type: 'a' }, '[{"type":"a"}]', [1], [null], [[]], [[{ type: 'a' }]], [{ type: 'a' }, 'b']],
  ...[[{}], [{ kind: 'a' }], [{ type: 1 }], [{ type: '' }]],
];
test.each(wrong.map((details) => ({ details })))('$details are no authorization details', ({ details }) => {
  expect(() => checkAuthorizationDetails(details)).toThrow('authorization_details: must be a JSON array');
});

test('authorization details are objects with a type, with anything else, of at most 4 KiB', () => {
  const anything = [{ type: 'a', deep: { of: [1, null, { ü: '\ud800' }] } }, { type: 'b' }];
  const limit = fieldLimits.authorizationDetailsBytes;
  expect(limit).toBe(4096);
  for (const details of [[], anything, ofBytes(limit), ofBytes(limit, 'é')])
    expect(checkAuthorizationDetails(details)).toBe(details);
  const deep = JSON.parse(`[{"type":"a","in":${'['.repeat(30_000)}${']'.repeat(30_000)}}]`);
  for (const details of [ofBytes(limit + 1), ofBytes(limit + 2, 'é'), deep])
    expect(() => checkAuthorizationDetails(details)).toThrow('4096 bytes');
});
