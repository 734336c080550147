import type { Language } from '@latchkey/contract/languages';
import type { Product } from '../config/product.ts';
import { escapeHtml } from '../values/html.ts';
import { palette } from './palette.ts';

/** The Content-ID of the logo, which the transport attaches to every mail. @see RFC 2392 */
export const logoContentId = 'logo@product';

/** The logo as a mail can carry it: mail programs show PNG images, but hardly any shows SVG. */
export const mailLogo = ({ logo }: Product) => (logo?.type === 'image/png' ? logo : undefined);

const { light, dark } = palette;
const font = 'font-family: system-ui, -apple-system, sans-serif; font-size: 16px; line-height: 1.5';

/** Styles are inline because some mail programs drop style sheets: these then show the light colors. */
export const styles = {
  page: `margin: 0; padding: 0; background: ${light.background}; color: ${light.text}; ${font}`,
  preheader: 'display: none; max-height: 0; overflow: hidden; opacity: 0',
  outer: 'padding: 32px 12px',
  card: `max-width: 520px; background: ${light.surface}; border: 1px solid ${light.line}; border-radius: 16px`,
  inner: `padding: 32px; color: ${light.text}; ${font}; overflow-wrap: anywhere`,
  product: 'margin: 0 0 24px; font-size: 18px; font-weight: 600',
  logo: 'height: 32px; max-width: 12em; vertical-align: middle',
  paragraph: 'margin: 0 0 16px',
  link: `display: inline-block; padding: 12px 20px; border-radius: 8px; background: ${light.accent}; color: ${light.onAccent}; font-weight: 600; text-decoration: none`,
  code: `margin: 0 0 16px; padding: 12px; border: 1px solid ${light.line}; border-radius: 12px; background: ${light.background}; font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 28px; font-weight: 700; letter-spacing: 2px; text-align: center`,
  facts: `margin: 0 0 16px; border-spacing: 0; font-size: 14px`,
  label: `padding: 2px 16px 2px 0; vertical-align: top; white-space: nowrap; color: ${light.muted}`,
  value: 'padding: 2px 0; overflow-wrap: anywhere',
  footer: `margin: 16px 0 0; text-align: center; color: ${light.muted}; font-size: 14px`,
  footerLink: `color: ${light.muted}`,
} as const;

/** Dark colors, for mail programs that follow the system's. They override the inline styles. */
const darkStyles = [
  ['.page', `background: ${dark.background}`, `color: ${dark.text}`],
  ['.card', `background: ${dark.surface}`, `border-color: ${dark.line}`],
  ['.inner', `color: ${dark.text}`],
  ['.code', `background: ${dark.background}`, `border-color: ${dark.line}`],
  ['.muted', `color: ${dark.muted}`],
]
  .map(([selector, ...rules]) => `${selector} { ${rules.map((rule) => `${rule} !important`).join('; ')} }`)
  .join(' ');

const header = (product: Product): string => {
  const name = escapeHtml(product.name);
  const logo =
    mailLogo(product) === undefined
      ? ''
      : `<img src="cid:${logoContentId}" alt="" height="32" style="${styles.logo}"> `;
  return `<p style="${styles.product}">${logo}${name}</p>`;
};

interface Content {
  readonly language: Language;
  readonly subject: string;
  /** What a list of mails shows after the subject. */
  readonly preheader: string;
  readonly body: readonly string[];
  readonly footer: readonly string[];
}

/** The HTML of every mail: a card in the middle, in light or dark. It loads nothing but an attached logo. */
export const htmlDocument = (product: Product, { language, subject, preheader, body, footer }: Content) =>
  [
    `<!doctype html><html lang="${language}"><head><meta charset="utf-8"><title>${escapeHtml(subject)}</title>`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark">',
    `<style>:root { color-scheme: light dark } @media (prefers-color-scheme: dark) { ${darkStyles} }</style></head>`,
    `<body class="page" style="${styles.page}">`,
    `<div style="${styles.preheader}">${escapeHtml(preheader)}</div>`,
    `<table role="presentation" width="100%" style="border-spacing: 0"><tr><td align="center" style="${styles.outer}">`,
    `<table role="presentation" class="card" width="100%" style="${styles.card}"><tr><td class="inner" align="left" style="${styles.inner}">`,
    header(product),
    ...body,
    '</td></tr></table>',
    ...footer,
    '</td></tr></table>',
    '</body></html>',
  ].join('\n');
