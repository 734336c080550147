import { readLogo } from './logo.ts';
import type { ConfigOf, platformSettings } from './settings.ts';

/** What people see of the service: on pages, in emails and in the passkey dialogs of their browser. */
export type Product = ReturnType<typeof readProduct>;

/** @throws {ConfigError} when the logo cannot be used */
export const readProduct = ({ productName: name, supportUrl, logoFile }: ConfigOf<typeof platformSettings>) =>
  Object.freeze({ name, supportUrl, logo: logoFile === undefined ? undefined : readLogo(logoFile) });

/** The sender of all mails where none is set. @see RFC 5322 section 3.2.4 for the quotes */
export function defaultSender({ name }: Product): string {
  const isPlain = /^[\p{L}\p{M}\p{N} '&!?+-]+$/u.test(name);
  return `${isPlain ? name : `"${name.replace(/["\\]/g, '\\$&')}"`} <no-reply@localhost>`;
}
