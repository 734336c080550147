// Writes `dist/site.json`: the web pages and their assets, served from memory or compiled into the binary.

import { rename } from 'node:fs/promises';
import { basename, join } from 'node:path';

/** A question in the middle of the screen, or a page with much to show. */
type Layout = 'centered' | 'wide';

/** Page name (its folder and entry script) to browser title and layout. */
const pages = {
  login: { title: 'Sign in', layout: 'centered' },
  'magic-link': { title: 'Sign in with an email link', layout: 'centered' },
  device: { title: 'Device sign-in', layout: 'centered' },
  account: { title: 'Your account', layout: 'wide' },
  'verify-email': { title: 'Confirm your new email', layout: 'centered' },
  'not-me': { title: 'Secure your account', layout: 'centered' },
} as const satisfies Record<string, { title: string; layout: Layout }>;

const root = import.meta.dir;
const dist = join(root, 'dist');
const names = Object.keys(pages) as (keyof typeof pages)[];

interface Parts {
  readonly title: string;
  readonly layout: Layout;
  readonly style: string;
  /** Tags that load the script. Omitted for a static page. */
  readonly head?: string;
  readonly main: string;
}

/** The service replaces `{{…}}` when it starts, with the name, the logo and the links of the product. */
const html = ({ title, layout, style, head = '', main }: Parts) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<meta name="application-name" content="{{name}}">
<title>${title} - {{name}}</title>
<link rel="icon" href="{{icon}}">
<link rel="stylesheet" href="/assets/${style}">
${head}</head>
<body class="${layout}">
<header><a href="/account">{{logo}} {{name}}</a></header>
<main>${main}</main>
{{footer}}</body>
</html>
`;

const scripted = (name: keyof typeof pages, script: string, imported: readonly string[], style: string) =>
  html({
    ...pages[name],
    style,
    head: `<script type="module" src="/assets/${script}"></script>
${imported.map((file) => `<link rel="modulepreload" href="/assets/${file}">\n`).join('')}`,
    main: `<noscript><p>This page needs JavaScript.</p></noscript>
<p class="load-error">This page couldn't load completely. Try reloading it.</p>`,
  });

/** The 404 page. */
const notFound = (style: string) =>
  html({
    title: 'Page not found',
    layout: 'centered',
    style,
    main: `<h1>Page not found</h1>
<p>There's no page at this address. Check the URL for typos, or go to your account.</p>
<p><a class="button wide-button" href="/account">Go to your account</a></p>`,
  });

const result = await Bun.build({
  entrypoints: [
    ...names.map((name) => join(root, 'src', name, `${name}.tsx`)),
    join(root, 'src', 'style.css'),
  ],
  target: 'browser',
  format: 'esm',
  splitting: true,
  metafile: true,
  minify: true,
  sourcemap: 'none',
  naming: { entry: '[name]-[hash].[ext]', chunk: 'shared-[hash].[ext]', asset: '[name]-[hash].[ext]' },
  define: { 'process.env.NODE_ENV': '"production"' },
  jsx: { runtime: 'automatic', importSource: 'preact', development: false },
});

const assets = result.outputs.map(({ path }) => basename(path)).sort();
const asset = (name: string, extension: string) => {
  const found = assets.filter((file) => file.startsWith(`${name}-`) && file.endsWith(extension));
  if (found.length !== 1) throw new Error(`expected one ${name}${extension} among ${assets.join(', ')}`);
  return found[0] as string;
};

/** Every module a script imports statically, so that the browser can preload them in parallel. */
function importedBy(script: string, found = new Set<string>()): string[] {
  for (const { path, kind } of result.metafile?.outputs[`./${script}`]?.imports ?? []) {
    const file = basename(path);
    if (kind !== 'import-statement' || found.has(file)) continue;
    found.add(file);
    importedBy(file, found);
  }
  return [...found];
}

const style = asset('style', '.css');
const site = {
  pages: Object.fromEntries(
    names.map((name) => {
      const script = asset(name, '.js');
      return [name, scripted(name, script, importedBy(script), style)];
    }),
  ),
  notFound: notFound(style),
  assets: Object.fromEntries(
    await Promise.all(
      result.outputs.map(async (output) => [basename(output.path), await output.text()] as const),
    ),
  ),
};

// Written to a temporary file and renamed, so that a reader or a concurrent build never sees half a site.
const temporary = join(dist, `site-${process.pid}.json`);
await Bun.write(temporary, JSON.stringify(site));
await rename(temporary, join(dist, 'site.json'));
