import { expect, test } from 'bun:test';
import { codeAlphabet } from '@latchkey/contract/codes';
import { codeFromMac, randomCode, sameCode } from './codes.ts';
import { systemRandom } from './random.ts';

const shape = /^[BCDFGHJKLMNPQRSTVWXZ]{8}$/;

test('a random code is eight letters of the alphabet, and another one each time', () => {
  const codes = Array.from({ length: 200 }, () => randomCode(systemRandom));
  for (const code of codes) expect(code).toMatch(shape);
  expect(new Set(codes).size).toBe(200);
});

test('every letter is as likely as any other: bytes beyond the last full round are thrown away', () => {
  const counts = new Map<string, number>();
  let next = 0;
  const everyByteInTurn = (length: number) => Buffer.from(Array.from({ length }, () => next++ % 256));
  for (let i = 0; i < 16 * 30; i++) {
    for (const letter of randomCode(everyByteInTurn)) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  }
  expect([...counts.keys()].sort().join('')).toBe(codeAlphabet);

  const tooHigh = Buffer.alloc(16, 255);
  const good = Buffer.alloc(16, 0);
  const draws = [tooHigh, tooHigh, good];
  expect(randomCode(() => draws.shift()!)).toBe('BBBBBBBB');
  expect(draws).toEqual([]);
});

test('the code of a MAC is a function of it and has the shape of a code', () => {
  const macs = Array.from({ length: 200 }, () => systemRandom(32));
  for (const mac of macs) {
    expect(codeFromMac(mac)).toMatch(shape);
    expect(codeFromMac(Buffer.from(mac))).toBe(codeFromMac(mac));
  }
  expect(new Set(macs.map(codeFromMac)).size).toBe(200);
});

test('codes are the same only when every letter is', () => {
  expect(sameCode('BCDFGHJK', 'BCDFGHJK')).toBe(true);
  for (let at = 0; at < 8; at++) {
    const other = `${'BCDFGHJK'.slice(0, at)}Z${'BCDFGHJK'.slice(at + 1)}`;
    expect(sameCode('BCDFGHJK', other)).toBe(false);
  }
  for (const other of ['', 'BCDFGHJ', 'BCDFGHJKL', 'bcdfghjk', 'BCDF-GHJK']) {
    expect(sameCode('BCDFGHJK', other)).toBe(false);
  }
});
