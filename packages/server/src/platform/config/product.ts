import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { ConfigError } from './config-error.ts';
import type { ConfigOf, platformSettings } from './settings.ts';

/** What people see of the service: on pages, in emails and in the passkey dialogs of their browser. */
export type Product = ReturnType<typeof readProduct>;

/** @throws {ConfigError} when the logo cannot be used */
export const readProduct = (config: ConfigOf<typeof platformSettings>) =>
  Object.freeze({
    name: config.productName,
    links: Object.freeze({ help: config.supportUrl, legal: config.legalUrl }),
    logo: config.logoFile === undefined ? undefined : readLogo(config.logoFile),
  });

/** The links that are set, in the order in which they are shown, with their words. */
export const linksOf = ({ links }: Product, words: Readonly<Record<keyof Product['links'], string>>) =>
  (['help', 'legal'] as const).flatMap((name) => {
    const url = links[name];
    return url === undefined ? [] : [{ words: words[name], url }];
  });

/** The sender of all mails where none is set. @see RFC 5322 section 3.2.4 for the quotes */
export function defaultSender({ name }: Product): string {
  const isPlain = /^[\p{L}\p{M}\p{N} '&!?+-]+$/u.test(name);
  return `${isPlain ? name : `"${name.replace(/["\\]/g, '\\$&')}"`} <no-reply@localhost>`;
}

/** Pages show it 32 pixels high, and every email carries it if it is a PNG. */
export const maxLogoBytes = 64 * 1024;

export interface Logo {
  readonly type: 'image/png' | 'image/svg+xml';
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Width and height, for their ratio; undefined for an SVG without a view box. */
  readonly size: Size | undefined;
}

interface Size {
  readonly width: number;
  readonly height: number;
}

/** Reads the logo; its content must match its name. @throws {ConfigError} naming LATCHKEY_LOGO */
function readLogo(path: string): Logo {
  const bytes = readFile(path);
  if (bytes.length > maxLogoBytes) {
    throw new ConfigError(
      `LATCHKEY_LOGO ${path} is too large: a logo can have at most ${maxLogoBytes / 1024} KiB.`,
    );
  }
  if (extname(path).toLowerCase() === '.png') {
    const size = sizeOfPng(Buffer.from(bytes));
    if (!size) throw new ConfigError(`LATCHKEY_LOGO ${path} is not a PNG image.`);
    return { type: 'image/png', bytes, size };
  }
  const text = readSvg(bytes);
  if (text === undefined) {
    throw new ConfigError(
      `LATCHKEY_LOGO ${path} is not an SVG image in UTF-8 with the namespace of SVG and no entities of its own.`,
    );
  }
  return { type: 'image/svg+xml', bytes, size: viewBoxOf(text) };
}

function readFile(path: string): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(readFileSync(path));
  } catch (error) {
    throw new ConfigError(
      `LATCHKEY_LOGO ${path} cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}.`,
    );
  }
}

/** The signature, and length and type of the first chunk, which begins with the size. */
const pngStart = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
/** The last chunk, which is empty. */
const pngEnd = Buffer.from('0000000049454e44ae426082', 'hex');

/** The size of a PNG image; undefined for any other file. @see PNG (Third Edition) section 5 */
function sizeOfPng(bytes: Buffer): Size | undefined {
  const isPng =
    bytes.subarray(0, pngStart.length).equals(pngStart) && bytes.subarray(-pngEnd.length).equals(pngEnd);
  const size = isPng && {
    width: bytes.readUInt32BE(pngStart.length),
    height: bytes.readUInt32BE(pngStart.length + 4),
  };
  return size && size.width > 0 && size.height > 0 ? size : undefined;
}

/** XML allows no `--` inside, so a text has only one way to match, and a wrong file is refused at once. */
const comment = String.raw`<!--(?:(?!--)[\s\S])*-->`;
/** What may precede the root element: XML declaration, comments, and a document type without declarations. */
const prolog = String.raw`^\s*(?:<\?xml\s[^>]*\?>\s*)?(?:(?:${comment}|<!DOCTYPE\s[^>[]*>)\s*)*`;
const svgStart = new RegExp(
  String.raw`${prolog}<svg\s(?:[^>]*\s)?xmlns\s*=\s*["']http://www\.w3\.org/2000/svg["'][^>]*>`,
);
const svgEnd = new RegExp(String.raw`(?:</svg\s*>|<svg\s[^>]*/>)\s*(?:${comment}\s*)*$`);

/** The text of an SVG image; undefined for anything else. Where it is served, its scripts do not run. */
function readSvg(bytes: Uint8Array): string | undefined {
  const text = isUtf8(bytes) ? new TextDecoder().decode(bytes) : '';
  return svgStart.test(text) && svgEnd.test(text) ? text : undefined;
}

function viewBoxOf(svg: string): Size | undefined {
  const root = /<svg\s[^>]*>/.exec(svg)?.[0] ?? '';
  const viewBox = /\sviewBox\s*=\s*["']([^"']*)["']/.exec(root)?.[1] ?? '';
  const [, , width = 0, height = 0] = viewBox
    .trim()
    .split(/[\s,]+/)
    .map(Number);
  return width > 0 && height > 0 ? { width, height } : undefined;
}
