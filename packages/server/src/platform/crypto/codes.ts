import { timingSafeEqual } from 'node:crypto';
import { codeAlphabet, codeLength } from '@latchkey/contract/codes';
import type { Random } from './random.ts';

/** A uniformly random code. Bytes that would favour some letters are discarded. */
export function randomCode(random: Random): string {
  const unbiasedBelow = 256 - (256 % codeAlphabet.length);
  let code = '';
  while (code.length < codeLength) {
    for (const byte of random(codeLength * 2)) {
      if (byte < unbiasedBelow && code.length < codeLength) code += codeAlphabet[byte % codeAlphabet.length];
    }
  }
  return code;
}

/** The code that a 32-byte MAC determines: its first 64 bits modulo 20^8, which has a bias below 2^-29. */
export function codeFromMac(mac: Buffer): string {
  let remainder = mac.readBigUInt64BE(0);
  const base = BigInt(codeAlphabet.length);
  let code = '';
  for (let i = 0; i < codeLength; i++) {
    code += codeAlphabet[Number(remainder % base)];
    remainder /= base;
  }
  return code;
}

/** Compares two codes in constant time. */
export const sameCode = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
