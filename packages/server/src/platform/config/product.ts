import { readLogo } from './logo.ts';
import type { ConfigOf, platformSettings } from './settings.ts';

/** What people see of the service: on pages, in emails and in the passkey dialogs of their browser. */
export type Product = ReturnType<typeof readProduct>;

/** @throws {ConfigError} when the logo cannot be used */
export const readProduct = (config: ConfigOf<typeof platformSettings>) =>
  Object.freeze({
    name: config.productName,
    links: Object.freeze({
      help: config.supportUrl,
      terms: config.termsUrl,
      privacy: config.privacyUrl,
    }),
    logo: config.logoFile === undefined ? undefined : readLogo(config.logoFile),
  });

/** The links that are set, in the order in which they are shown, with their words. */
export const linksOf = (
  { links }: Product,
  words: Readonly<Record<keyof Product['links'], string>>,
): { readonly words: string; readonly url: string }[] =>
  (['help', 'terms', 'privacy'] as const).flatMap((name) => {
    const url = links[name];
    return url === undefined ? [] : [{ words: words[name], url }];
  });

/** The sender of all mails where none is set. @see RFC 5322 section 3.2.4 for the quotes */
export function defaultSender({ name }: Product): string {
  const isPlain = /^[\p{L}\p{M}\p{N} '&!?+-]+$/u.test(name);
  return `${isPlain ? name : `"${name.replace(/["\\]/g, '\\$&')}"`} <no-reply@localhost>`;
}
