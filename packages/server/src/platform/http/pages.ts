import { createHash } from 'node:crypto';
import { extname } from 'node:path';
import { fieldLimits } from '@latchkey/contract/field-limits';
import { type Language, languageOf, languages } from '@latchkey/contract/languages';
import { type FailedPage, pageDataId } from '@latchkey/contract/page-data';
import type { Config } from '../config/config.ts';
import { type Logo, linksOf, type Product } from '../config/product.ts';
import { pathNotFound } from '../errors.ts';
import { preferredLanguage, prefersHtml } from '../values/accept.ts';
import { escapeHtml } from '../values/html.ts';
import { queryOf } from './body.ts';
import { readLanguageCookie, type Transport } from './cookie.ts';
import type { Exchange, Routes } from './server.ts';
import { fileResponse, storeFile } from './stored-file.ts';

type InLanguages = Readonly<Record<Language, string>>;

/** The output of the dashboard's build. */
interface Site {
  /** HTML by path segment, with places for the product. */
  readonly pages: Readonly<Record<string, InLanguages>>;
  /** The names of the files of the API reference. */
  readonly reference: { readonly script: string; readonly styles: readonly string[] };
  readonly notFound: InLanguages;
  /** Text by file name. */
  readonly assets: Readonly<Record<string, string>>;
}

const site: Site = await import('@latchkey/dashboard/dist/site.json').then(
  (built) => built.default,
  () => {
    throw new Error('The dashboard is not built. Run `bun packages/dashboard/build.ts` first.');
  },
);

/** The names of the files of the API reference, below `/assets/`. */
export const referenceAssets = site.reference;

/** The serialization of an origin that a policy can name: `;` and `,` in a host would end a directive. */
const originPattern = /^https?:\/\/[\w.:[\]-]+$/;

/** Browsers ignore IPv6 addresses, so scheme and port are allowed, too. @see CSP Level 3 section 2.3.1 */
const formSources = (origin: string): string =>
  origin.includes('[') ? `${origin} ${origin.replace(/\[.*\]/, '*')}` : origin;

/**
 * A page runs and calls only what this service serves: no inline scripts or styles, no frames, no strings as
 * markup. It posts forms only to this service, and to one other origin if the page exists for that purpose.
 */
const contentSecurityPolicy = (formOrigin: string | undefined) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    formOrigin !== undefined && originPattern.test(formOrigin)
      ? `form-action 'self' ${formSources(formOrigin)}`
      : "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');

const deniedFeatures = [
  'accelerometer',
  'autoplay',
  'camera',
  'display-capture',
  'encrypted-media',
  'fullscreen',
  'geolocation',
  'gyroscope',
  'hid',
  'magnetometer',
  'microphone',
  'midi',
  'payment',
  'picture-in-picture',
  'screen-wake-lock',
  'serial',
  'usb',
  'xr-spatial-tracking',
];
const permissionsPolicy = [
  ...deniedFeatures.map((feature) => `${feature}=()`),
  'publickey-credentials-create=(self)',
  'publickey-credentials-get=(self)',
].join(', ');

const assetMaxAgeSeconds = 31_536_000;

const contentTypes: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
};

const securityHeaders = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

type PageOptions = Pick<Config, 'https' | 'product'>;

/** The headers of every web page. @param formOrigin the other origin that the page may post a form to */
export const pageHeaders = (formOrigin?: string): Record<string, string> => ({
  ...securityHeaders,
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': contentSecurityPolicy(formOrigin),
  'Permissions-Policy': permissionsPolicy,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'X-Frame-Options': 'DENY',
  'Cache-Control': 'no-store',
});

const languageHeaders = 'Accept-Language, Cookie';

/** The language of the profile, as the account page stored it in this browser, or one the browser accepts. */
const languageFor = (headers: Headers, transport: Transport, named?: Language): Language =>
  readLanguageCookie(transport, headers.get('Cookie')) ??
  named ??
  preferredLanguage(headers.get('Accept-Language')) ??
  'en';

const inEachLanguage = <T>(make: (language: Language) => T): Readonly<Record<Language, T>> =>
  Object.fromEntries(languages.map((language) => [language, make(language)])) as Record<Language, T>;

/**
 * Serves the dashboard: its pages in every language, never cached, and their files under `/assets/`, named by
 * content hash and cached for a year. Compression leaks nothing (BREACH): nothing here is secret.
 */
export function pageRoutes(routes: Routes, options: PageOptions): void {
  const headers = pageHeaders();

  routes.get('/', () => new Response(null, { status: 302, headers: { ...headers, Location: '/account' } }));
  for (const [name, page] of Object.entries(site.pages)) {
    if (requestPages.some((one) => one === name)) continue;
    const files = inEachLanguage((language) => storeFile(withProduct(page[language], options.product)));
    routes.get(`/${name}`, ({ request }) => {
      const language = languageFor(request.headers, options);
      return fileResponse(files[language], request.headers, {
        ...headers,
        'Content-Language': language,
        Vary: languageHeaders,
      });
    });
  }

  const { logo } = options.product;
  if (logo !== undefined) {
    const file = storeFile(logo.bytes);
    const headers = {
      ...securityHeaders,
      'Content-Type': logo.type,
      'Content-Security-Policy': logoContentSecurityPolicy,
      'Cache-Control': `public, max-age=${logoMaxAgeSeconds}`,
    };
    routes.get(logoPath, ({ request }) => fileResponse(file, request.headers, headers));
  }

  const files = new Map(Object.entries(site.assets).map(([name, text]) => [name, storeFile(text)]));
  routes.get('/assets/:name', ({ request, params }) => {
    const name = params['name']!;
    const file = files.get(name);
    if (file === undefined) throw pathNotFound();
    return fileResponse(file, request.headers, {
      ...securityHeaders,
      'Content-Type': contentTypes[extname(name)] ?? 'application/octet-stream',
      'Cache-Control': `public, max-age=${assetMaxAgeSeconds}, immutable`,
    });
  });
}

/** The pages that are made anew for each request. */
const requestPages = ['authorize', 'sign-out'] as const;
type RequestPage = (typeof requestPages)[number];

interface RequestPageContent<Data> {
  readonly status: number;
  /** Where its form goes, if it has one. */
  readonly formOrigin?: string | undefined;
  readonly data: Data;
}

/** The first of our languages that a client names. @see OpenID Connect Core section 3.1.2.1 */
function namedLanguage(url: string): Language | undefined {
  const tags = queryOf(url).searchParams.get('ui_locales') ?? '';
  return tags.length > fieldLimits.hint ? undefined : tags.split(' ').map(languageOf).find(Boolean);
}

/** Makes a page about its request. It is not compressed, because it contains input from others. */
export function requestPage<Data>(name: RequestPage, options: PageOptions) {
  const pages = inEachLanguage((language) => withProduct(site.pages[name]![language], options.product));
  return (request: Request, { status, formOrigin, data }: RequestPageContent<Data>): Response => {
    const language = languageFor(request.headers, options, namedLanguage(request.url));
    // Data, which no browser runs. Escaped so that it cannot end its element.
    const json = JSON.stringify(data).replaceAll('<', '\\u003c');
    const element = `<script type="application/json" id="${pageDataId}">${json}</script>`;
    return new Response(
      pages[language].replace('</body>', () => `${element}</body>`),
      {
        status,
        headers: {
          ...pageHeaders(formOrigin),
          'Content-Language': language,
          Vary: `Origin, ${languageHeaders}`,
        },
      },
    );
  };
}

/** If the request fails, a browser gets a page that says so, instead of the error object. */
export function failWithPage(
  exchange: Exchange,
  pageFor: (request: Request, content: RequestPageContent<FailedPage>) => Response,
): void {
  const { request } = exchange;
  if (!prefersHtml(request.headers.get('Accept'))) return;
  exchange.errorPage = ({ code, status, headers }) => {
    const seconds = headers['Retry-After'];
    const retry = seconds === undefined ? {} : { retryAfterSeconds: Number(seconds) };
    return pageFor(request, { status, data: { outcome: 'failed', problem: { code, ...retry } } });
  };
}

/** Paths that only programs request. They get the error object whatever they accept. */
const machinePath = /^\/(?:api|assets|\.well-known)(?:\/|$)|\.json$/;

/** A 404 page for clients that prefer HTML, as browsers do on navigation. All others get the error object. */
export function notFoundPage(options: PageOptions): (request: Request, path: string) => Response | undefined {
  const headers = { ...pageHeaders(), Vary: `Origin, Accept, ${languageHeaders}` };
  const pages = inEachLanguage((language) => withProduct(site.notFound[language], options.product));
  return (request, path) => {
    if (machinePath.test(path) || !prefersHtml(request.headers.get('Accept'))) return undefined;
    const language = languageFor(request.headers, options);
    return new Response(pages[language], {
      status: 404,
      headers: { ...headers, 'Content-Language': language },
    });
  };
}

export const logoPath = '/logo';

/** The icon of a product without a logo. `.mark` in the style sheet draws the same. */
const defaultIcon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Cpath fill='%233e63dd' fill-rule='evenodd' d='M9 0h14a9 9 0 0 1 9 9v14a9 9 0 0 1-9 9H9a9 9 0 0 1-9-9V9a9 9 0 0 1 9-9zm7 7.2a5.4 5.4 0 0 0-2.7 10.1l-1.5 7.1h8.4l-1.5-7.1A5.4 5.4 0 0 0 16 7.2z'/%3E%3C/svg%3E";

const places = /\{\{(name|icon|logo|footer:[^{}]*)\}\}/g;

/** Writes the product into a page, in one pass: a name that looks like a placeholder stays text. */
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

/** A different file has a different URL, so a page never shows an old logo from a cache. */
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

/** @param words the words of the links, which the build writes into the placeholder */
function footer(product: Product, words: string): string {
  const [help = '', legal = ''] = words.split('|');
  const links = linksOf(product, { help, legal });
  const anchors = links.map((link) => `<a href="${escapeHtml(link.url)}">${link.words}</a>`);
  return anchors.length === 0 ? '' : `<footer>${anchors.join('\n')}</footer>\n`;
}

const logoMaxAgeSeconds = 86_400;

/** For a browser that opens the logo itself: no scripts, requests or frames, and an origin of its own. */
const logoContentSecurityPolicy =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox";
