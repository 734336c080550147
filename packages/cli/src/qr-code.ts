import { encode, renderUnicodeCompact } from 'uqr';

/** Quiet modules around the code. The standard asks for 4; phones can read it with 2. */
const border = 2;

/** A QR code for a terminal, dark or light, as lines; empty if the terminal is too narrow for it. */
export function qrCode(text: string, columns: number): string[] {
  const { size } = encode(text, { border });
  return size > columns ? [] : renderUnicodeCompact(text, { border }).split('\n');
}
