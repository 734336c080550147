import { asciiDomainOf } from '@latchkey/contract/domains';

/**
 * The key that identifies the mailbox of an email address: the address with its ASCII letters in lower case
 * and its domain as it is looked up. Two addresses with the same key are the same address.
 */
export function emailKeyOf(email: string): string {
  const at = email.lastIndexOf('@') + 1;
  const domain = email.slice(at);
  return lowerAscii(email.slice(0, at)) + (asciiDomainOf(domain) ?? lowerAscii(domain));
}

const lowerAscii = (text: string): string => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
