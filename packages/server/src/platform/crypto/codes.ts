import { timingSafeEqual } from 'node:crypto';
import { codeAlphabet, codeLength } from '@latchkey/contract/codes';
import type { Random } from './random.ts';

/** A uniformly random code: bytes that would favour some letters are thrown away. */
export function randomCode(random: Random): string {
  const fair = 256 - (256 % codeAlphabet.length);
  let code = '';
  while (code.length < codeLength) {
    for (const byte of random(codeLength * 2)) {
      if (byte < fair && code.length < codeLength) code += codeAlphabet[byte % codeAlphabet.length];
    }
  }
  return code;
}

/** The code that a 32-byte MAC stands for. The bias of taking 64 bits modulo 20^8 is below 2^-29. */
export function codeFromMac(mac: Buffer): string {
  let rest = mac.readBigUInt64BE(0);
  const base = BigInt(codeAlphabet.length);
  let code = '';
  for (let i = 0; i < codeLength; i++) {
    code += codeAlphabet[Number(rest % base)];
    rest /= base;
  }
  return code;
}

/** Compares two codes of full length without telling how much of them agrees. */
export const sameCode = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
