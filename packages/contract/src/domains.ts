/** @see RFC 1035 section 2.3.4 */
const maxDomainLength = 253;

const lowerAscii = (text: string): string => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

const isAscii = (text: string): boolean => !/[^\0-\x7f]/.test(text);

/** Whether the last label is a number: then it is read as an IPv4 address. @see URL Standard section 3.5 */
const endsInNumber = (domain: string): boolean => /(?:^|\.)(?:\d+|0x[\da-f]*)$/.test(domain);

/**
 * Whether an email address may have this domain: IDNA mapping leaves it unchanged, apart from the case of ASCII letters,
 * and it is not an IPv4 address. Mail is delivered to the ASCII form of a domain, so only that spelling is accepted; any
 * other would be a second spelling of the same mailbox. False for anything too long to be a domain.
 * @see UTS 46 section 4
 */
export function isMappedToItself(domain: string): boolean {
  if (domain.length > maxDomainLength || !isAscii(domain)) return false;
  const lower = lowerAscii(domain);
  if (endsInNumber(lower)) return false;
  return !/(?:^|\.)xn--/.test(lower) || URL.parse(`http://${lower}`)?.hostname === lower;
}
