import { expect, test } from 'bun:test';
import { userCodeAlphabet } from '@latchkey/contract/codes';
import { emailCodeFromMac, randomUserCode, sameCode } from './codes.ts';

test('all letters of a random code are equally likely, because biased bytes are discarded', () => {
  const counts = new Map<string, number>();
  let next = 0;
  const countingBytes = (length: number) => Buffer.from(Array.from({ length }, () => next++ % 256));
  for (let i = 0; i < 16 * 30; i++)
    for (const letter of randomUserCode(countingBytes)) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  expect([...counts.keys()].sort().join('')).toBe(userCodeAlphabet);
  // Each byte has come equally often.
  expect(new Set(counts.values())).toEqual(new Set([(16 * 30 * 8) / userCodeAlphabet.length]));

  const tooHigh = Buffer.alloc(16, 255);
  const usable = Buffer.alloc(16, 0);
  const draws = [tooHigh, tooHigh, usable];
  expect(randomUserCode(() => draws.shift()!)).toBe('BBBBBBBB');
  expect(draws).toEqual([]);
});

test.each([
  ['00000000000004d2', '00001234'],
  ['0000000005f5e0ff', '99999999'],
  ['0000000005f5e101', '00000001'],
  ['ffffffffffffffff', '09551615'],
])(
  'a MAC that begins with %s gives the email code %s: eight digits, with the zeros in front',
  (start, code) => {
    expect(emailCodeFromMac(Buffer.from(start.padEnd(64, '0'), 'hex'))).toBe(code);
  },
);

test('sameCode compares every letter and the length', () => {
  const code = 'BCDFGHJK';
  expect(sameCode(code, code)).toBe(true);
  const changed = Array.from(code, (_, at) => `${code.slice(0, at)}Z${code.slice(at + 1)}`);
  for (const other of [...changed, '', 'BCDFGHJ', 'BCDFGHJKL', 'bcdfghjk', 'BCDF-GHJK'])
    expect(sameCode(code, other)).toBe(false);
});
