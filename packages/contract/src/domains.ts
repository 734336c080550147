import { toASCII, toUnicode } from 'tr46';

/** @see RFC 1035 section 2.3.4 */
const maxDomainLength = 253;

/** Non-transitional, and as strict as browsers are. @see UTS 46 section 4, URL Standard section 3.3 */
const processing = {
  checkBidi: true,
  checkJoiners: true,
  useSTD3ASCIIRules: true,
  verifyDNSLength: true,
} as const;

const lowerAscii = (text: string): string => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/** Domains that IDNA mapping does not touch. */
const isPlain = (lower: string): boolean => !/[^\0-\x7f]|(?:^|\.)xn--/.test(lower);

/** Whether the last label is a number: then it is read as an IPv4 address. @see URL Standard section 3.5 */
const endsInNumber = (domain: string): boolean => /(?:^|\.)(?:\d+|0x[\da-f]*)$/.test(domain);

/**
 * Converts a domain to the form used for look-ups: lower-case ASCII, with A-labels for international labels.
 * All spellings of a domain have the same form. Undefined if IDNA does not accept the domain.
 * @see UTS 46 section 4.2
 */
export function asciiDomainOf(domain: string): string | undefined {
  if (domain.length > maxDomainLength) return undefined;
  const lower = lowerAscii(domain);
  return isPlain(lower) ? lower : (toASCII(lower, processing) ?? undefined);
}

/**
 * Whether an email address may have this domain: IDNA mapping leaves it unchanged, apart from the case of
 * ASCII letters, and it is not an IPv4 address. An international label is accepted as a U-label or as its
 * A-label. Email for any other spelling would be delivered to a domain that looks different.
 */
export function isMappedToItself(domain: string): boolean {
  const ascii = asciiDomainOf(domain);
  const lower = lowerAscii(domain);
  if (ascii === undefined || endsInNumber(ascii)) return false;
  if (isPlain(lower)) return true;
  const labels = lower.split('.');
  const [aLabels, uLabels] = [ascii, toUnicode(lower, processing).domain].map((mapped) => mapped.split('.'));
  return (
    labels.length === aLabels?.length &&
    labels.every((label, at) => label === (label.startsWith('xn--') ? aLabels : uLabels)?.[at])
  );
}
