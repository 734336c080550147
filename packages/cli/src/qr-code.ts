import { encode, renderUnicodeCompact } from 'uqr';

/** Quiet modules around the code; the standard asks for 4, and phones are content with 2. */
const border = 2;

/** A QR code for a dark or light terminal, as lines; none where the terminal is too narrow to show it whole. */
export function qrCode(text: string, columns: number): string[] {
  const { size } = encode(text, { border });
  return size > columns ? [] : renderUnicodeCompact(text, { border }).split('\n');
}
