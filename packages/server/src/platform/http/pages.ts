import { extname } from 'node:path';
import { pathNotFound } from '../errors.ts';
import { prefersHtml } from './accept.ts';
import type { Routes } from './routing.ts';
import { fileResponse, storeFile } from './stored-file.ts';

/** What the dashboard's build makes. */
interface Site {
  /** By path segment: the HTML. */
  readonly pages: Readonly<Record<string, string>>;
  /** The HTML of the page for an address that leads nowhere. */
  readonly notFound: string;
  /** By file name: the text. */
  readonly assets: Readonly<Record<string, string>>;
}

const site: Site = await import('@latchkey/dashboard/dist/site.json').then(
  (built) => built.default,
  () => {
    throw new Error('the dashboard is not built: run `bun packages/dashboard/build.ts` first');
  },
);

/**
 * What a page may do: run and call what this service itself serves, and nothing else. No inline script or style,
 * no frame around it, no string that becomes markup.
 */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "form-action 'self'",
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

const hstsMaxAgeSeconds = 63_072_000;
const assetMaxAgeSeconds = 31_536_000;

const contentTypes: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
};

const headersOfAll = ({ https }: PageOptions): Record<string, string> => ({
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  ...(https ? { 'Strict-Transport-Security': `max-age=${hstsMaxAgeSeconds}` } : {}),
});

interface PageOptions {
  readonly https: boolean;
}

/** What every page for people is sent with. */
export const pageHeaders = (options: PageOptions): Record<string, string> => ({
  ...headersOfAll(options),
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': contentSecurityPolicy,
  'Permissions-Policy': permissionsPolicy,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'X-Frame-Options': 'DENY',
  'Cache-Control': 'no-store',
});

/**
 * Serves the dashboard: its pages, never kept by any cache, and under `/assets/` the files they load, named by
 * their content and kept for ever. All are compressed once, here; a request never reaches the file system.
 * Pages may be compressed as well: they hold no secret and nothing that a stranger chose, so their length tells
 * nothing.
 */
export function pageRoutes(routes: Routes, options: PageOptions): void {
  const headers = pageHeaders(options);

  routes.get('/', () => new Response(null, { status: 302, headers: { ...headers, Location: '/account' } }));
  for (const [name, html] of Object.entries(site.pages)) {
    const file = storeFile(html);
    routes.get(`/${name}`, ({ request }) => fileResponse(file, request.headers, headers));
  }

  const files = new Map(Object.entries(site.assets).map(([name, text]) => [name, storeFile(text)]));
  routes.get('/assets/:name', ({ request, params }) => {
    const name = params['name']!;
    const file = files.get(name);
    if (file === undefined) throw pathNotFound();
    return fileResponse(file, request.headers, {
      ...headersOfAll(options),
      'Content-Type': contentTypes[extname(name)] ?? 'application/octet-stream',
      'Cache-Control': `public, max-age=${assetMaxAgeSeconds}, immutable`,
    });
  });
}

/** Paths that only programs ask for: they get the error object there whatever they accept. */
const machinePath = /^\/(?:api|assets|\.well-known)(?:\/|$)|\.json$/;

/**
 * Answers an unknown path with a page where a person would see the answer: the client prefers HTML, as a browser does
 * when it opens an address. Everybody else gets the error object.
 */
export function notFoundPage(options: PageOptions): (request: Request, path: string) => Response | undefined {
  const headers = { ...pageHeaders(options), Vary: 'Origin, Accept' };
  return (request, path) =>
    machinePath.test(path) || !prefersHtml(request.headers.get('Accept'))
      ? undefined
      : new Response(site.notFound, { status: 404, headers });
}
