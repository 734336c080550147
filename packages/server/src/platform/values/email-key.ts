import { asciiDomainOf } from '@latchkey/contract/domains';

/** The address with ASCII letters in lower case and its domain as looked up. Equal keys, equal addresses. */
export function emailKeyOf(email: string): string {
  const at = email.lastIndexOf('@') + 1;
  const domain = email.slice(at);
  return lowerAscii(email.slice(0, at)) + (asciiDomainOf(domain) ?? lowerAscii(domain));
}

const lowerAscii = (text: string): string => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
