import { asciiDomainOf } from '@latchkey/contract/domains';

/** What identifies the mailbox of an email address: its ASCII letters in lower case, its domain as it is looked up. */
export function emailKeyOf(email: string): string {
  const at = email.lastIndexOf('@') + 1;
  const domain = email.slice(at);
  return lowerAscii(email.slice(0, at)) + (asciiDomainOf(domain) ?? lowerAscii(domain));
}

const lowerAscii = (text: string): string => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
