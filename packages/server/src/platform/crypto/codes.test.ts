import { expect, test } from 'bun:test';
import { userCodeAlphabet } from '@latchkey/contract/codes';
import { emailCodeFromMac, randomUserCode, sameCode } from './codes.ts';
import { systemRandom } from './primitives.ts';

test('a random code is eight letters of the alphabet and different each time', () => {
  const codes = Array.from({ length: 200 }, () => randomUserCode(systemRandom));
  for (const code of codes) expect(code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{8}$/);
  expect(new Set(codes).size).toBe(200);
});

test('all letters of a random code are equally likely, because biased bytes are discarded', () => {
  const counts = new Map<string, number>();
  let next = 0;
  const countingBytes = (length: number) => Buffer.from(Array.from({ length }, () => next++ % 256));
  for (let i = 0; i < 16 * 30; i++) {
    for (const letter of randomUserCode(countingBytes)) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  }
  expect([...counts.keys()].sort().join('')).toBe(userCodeAlphabet);

  const tooHigh = Buffer.alloc(16, 255);
  const usable = Buffer.alloc(16, 0);
  const draws = [tooHigh, tooHigh, usable];
  expect(randomUserCode(() => draws.shift()!)).toBe('BBBBBBBB');
  expect(draws).toEqual([]);
});

test('a MAC gives an email code of eight digits, with the zeros in front', () => {
  expect(emailCodeFromMac(Buffer.from('00000000000004d2'.padEnd(64, '0'), 'hex'))).toBe('00001234');
  const macs = Array.from({ length: 200 }, () => systemRandom(32));
  for (const mac of macs) expect(emailCodeFromMac(mac)).toMatch(/^\d{8}$/);
  expect(new Set(macs.map(emailCodeFromMac)).size).toBe(200);
});

test('sameCode compares every letter and the length', () => {
  const code = 'BCDFGHJK';
  expect(sameCode(code, code)).toBe(true);
  const changed = Array.from(code, (_, at) => `${code.slice(0, at)}Z${code.slice(at + 1)}`);
  for (const other of [...changed, '', 'BCDFGHJ', 'BCDFGHJKL', 'bcdfghjk', 'BCDF-GHJK'])
    expect(sameCode(code, other)).toBe(false);
});
