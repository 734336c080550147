import { timingSafeEqual } from 'node:crypto';
import { codeLength, emailCodeAlphabet, userCodeAlphabet } from '@latchkey/contract/codes';
import type { Random } from './primitives.ts';

/** A uniformly random user code. Bytes that would favour some letters are discarded. */
export function randomUserCode(random: Random): string {
  const unbiasedBelow = 256 - (256 % userCodeAlphabet.length);
  let code = '';
  while (code.length < codeLength) {
    for (const byte of random(codeLength * 2)) {
      if (byte < unbiasedBelow && code.length < codeLength)
        code += userCodeAlphabet[byte % userCodeAlphabet.length];
    }
  }
  return code;
}

/** The email code that a 32-byte MAC determines: its first 64 bits modulo 10^8, with a bias below 2^-37. */
export const emailCodeFromMac = (mac: Buffer): string =>
  String(mac.readBigUInt64BE(0) % BigInt(emailCodeAlphabet.length ** codeLength)).padStart(codeLength, '0');

/** Compares two codes in constant time. */
export const sameCode = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
