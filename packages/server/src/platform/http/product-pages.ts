import { createHash } from 'node:crypto';
import type { Logo } from '../config/logo.ts';
import { linksOf, type Product } from '../config/product.ts';
import { escapeHtml } from '../values/html.ts';

export const logoPath = '/logo';

/** The icon of a product without a logo. `.mark` in the style sheet draws the same. */
const defaultIcon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Cpath fill='%233e63dd' fill-rule='evenodd' d='M9 0h14a9 9 0 0 1 9 9v14a9 9 0 0 1-9 9H9a9 9 0 0 1-9-9V9a9 9 0 0 1 9-9zm7 7.2a5.4 5.4 0 0 0-2.7 10.1l-1.5 7.1h8.4l-1.5-7.1A5.4 5.4 0 0 0 16 7.2z'/%3E%3C/svg%3E";

const places = /\{\{(name|icon|logo|footer:[^{}]*)\}\}/g;

/**
 * Writes the product into the HTML of a page, once, when the service starts: so pages stay files with an entity tag, and
 * show the name with their first paint. All places are filled in one pass, so a name that looks like a place stays text.
 */
export function withProduct(html: string, product: Product): string {
  const values: Readonly<Record<string, string>> = {
    name: escapeHtml(product.name),
    icon: product.logo === undefined ? defaultIcon : logoUrl(product.logo),
    logo: product.logo === undefined ? '<span class="mark"></span>' : logoImage(product.logo),
  };
  return html.replace(places, (place, name: string) => {
    const words = /^footer:(.*)$/s.exec(name)?.[1];
    return words === undefined ? (values[name] ?? place) : footer(product, words);
  });
}

/** Another file has another address, so a page never shows an old logo from a cache. */
const logoUrl = ({ bytes }: Logo): string => {
  const version = createHash('sha256').update(bytes).digest('base64url').slice(0, 8);
  return `${logoPath}?v=${version}`;
};

/** Decorative: the name is next to it. */
function logoImage(logo: Logo): string {
  const { size } = logo;
  const ratio = size === undefined ? '' : ` width="${size.width}" height="${size.height}"`;
  return `<img class="logo" src="${logoUrl(logo)}" alt=""${ratio}>`;
}

/** @param words those of the links, which the build writes into the place */
function footer(product: Product, words: string): string {
  const [help = '', terms = '', privacy = ''] = words.split('|');
  const links = linksOf(product, { help, terms, privacy });
  const anchors = links.map((link) => `<a href="${escapeHtml(link.url)}">${link.words}</a>`);
  return anchors.length === 0 ? '' : `<footer>${anchors.join('\n')}</footer>\n`;
}

const logoMaxAgeSeconds = 86_400;

/**
 * For a browser that opens the logo itself and not as an image of a page: no scripts, no requests, no frames, and an
 * origin of its own. Its own styles are part of an SVG image.
 */
const logoContentSecurityPolicy =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox";

/** The headers of the response with the logo, besides those of every file. */
export const logoHeaders = ({ type }: Logo): Record<string, string> => ({
  'Content-Type': type,
  'Content-Security-Policy': logoContentSecurityPolicy,
  'Cache-Control': `public, max-age=${logoMaxAgeSeconds}`,
});
