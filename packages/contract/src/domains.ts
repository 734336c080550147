// Punycode parameters. @see RFC 3492 section 5
const base = 36;
const thresholdMin = 1;
const thresholdMax = 26;
const skew = 38;
const damp = 700;
const initialBias = 72;
const firstNonAscii = 0x80;

const digits = 'abcdefghijklmnopqrstuvwxyz0123456789';

function adaptedBias(delta: number, points: number, isFirst: boolean): number {
  let rest = Math.floor(delta / (isFirst ? damp : 2));
  rest += Math.floor(rest / points);
  let bias = 0;
  while (rest > ((base - thresholdMin) * thresholdMax) / 2) {
    rest = Math.floor(rest / (base - thresholdMin));
    bias += base;
  }
  return bias + Math.floor(((base - thresholdMin + 1) * rest) / (rest + skew));
}

function variableLengthInteger(value: number, bias: number): string {
  let text = '';
  let rest = value;
  for (let k = base; ; k += base) {
    const threshold = Math.min(Math.max(k - bias, thresholdMin), thresholdMax);
    if (rest < threshold) return text + digits[rest]!;
    text += digits[threshold + ((rest - threshold) % (base - threshold))]!;
    rest = Math.floor((rest - threshold) / (base - threshold));
  }
}

/**
 * Encodes a label as it is, without the mapping usually applied to domain names first.
 * @see RFC 3492 section 6.3
 */
function punycode(label: string): string {
  const points = [...label].map((character) => character.codePointAt(0)!);
  const ascii = points.filter((point) => point < firstNonAscii);
  let text = String.fromCodePoint(...ascii) + (ascii.length > 0 ? '-' : '');
  let encoded = ascii.length;
  let next = firstNonAscii;
  let delta = 0;
  let bias = initialBias;
  while (encoded < points.length) {
    const lowest = Math.min(...points.filter((point) => point >= next));
    delta += (lowest - next) * (encoded + 1);
    for (const point of points) {
      if (point < lowest) delta += 1;
      if (point !== lowest) continue;
      text += variableLengthInteger(delta, bias);
      bias = adaptedBias(delta, encoded + 1, encoded === ascii.length);
      delta = 0;
      encoded += 1;
    }
    delta += 1;
    next = lowest + 1;
  }
  return text;
}

/** @see RFC 1035 section 2.3.4 */
const maxDomainLength = 253;

const lowerAscii = (text: string): string => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

const isAscii = (text: string): boolean => !/[^\0-\x7f]/.test(text);

/**
 * Whether IDNA mapping leaves a domain unchanged, apart from the case of ASCII letters. If it doesn't, as with fullwidth
 * letters, mail goes to a different domain than the one typed. False for anything too long to be a domain.
 * @see UTS 46 section 4
 */
export function isMappedToItself(domain: string): boolean {
  if (domain.length > maxDomainLength) return false;
  const lower = lowerAscii(domain);
  if (isAscii(lower) && !/(?:^|\.)xn--/.test(lower)) return true;
  const unmapped = lower.split('.').map((label) => (isAscii(label) ? label : `xn--${punycode(label)}`));
  return URL.parse(`http://${lower}`)?.hostname === unmapped.join('.');
}
