import { type Logo, readLogo } from './logo.ts';

/** What people see of the service: on pages, in emails and in the passkey dialogs of their browser. */
export interface Product {
  readonly name: string;
  readonly url: string | undefined;
  readonly supportUrl: string | undefined;
  readonly logo: Logo | undefined;
}

interface ProductSettings {
  readonly LATCHKEY_PRODUCT_NAME: string;
  readonly LATCHKEY_PRODUCT_URL: string | undefined;
  readonly LATCHKEY_SUPPORT_URL: string | undefined;
  readonly LATCHKEY_LOGO: string | undefined;
}

/** @throws {ConfigError} when the logo cannot be used */
export const readProduct = (settings: ProductSettings): Product =>
  Object.freeze({
    name: settings.LATCHKEY_PRODUCT_NAME,
    url: settings.LATCHKEY_PRODUCT_URL,
    supportUrl: settings.LATCHKEY_SUPPORT_URL,
    logo: settings.LATCHKEY_LOGO === undefined ? undefined : readLogo(settings.LATCHKEY_LOGO),
  });

/** The sender of all mails where none is set. @see RFC 5322 section 3.2.4 for the quotes */
export function defaultSender({ name }: Product): string {
  const isPlain = /^[\p{L}\p{M}\p{N} '&!?+-]+$/u.test(name);
  return `${isPlain ? name : `"${name.replace(/["\\]/g, '\\$&')}"`} <no-reply@localhost>`;
}
