// Serves the page with every part of the design, which the product does not have, under the product's policy for pages.

import { join } from 'node:path';
import { allTexts } from '../../../packages/dashboard/src/languages/all.ts';
import { pageHeaders } from '../../../packages/server/src/platform/http/pages.ts';

const source = join(import.meta.dir, '../../../packages/dashboard/src');

const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Design</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/style.css">
<script type="module" src="/texts.js"></script>
<script type="module" src="/gallery-page.js"></script>
</head>
<body class="wide">
<main></main>
</body>
</html>`;

interface Gallery {
  readonly url: string;
  stop(): Promise<void>;
}

/** Builds the page and serves it on a free port. */
export async function startGallery(): Promise<Gallery> {
  const { outputs } = await Bun.build({
    entrypoints: [join(import.meta.dir, 'gallery-page.tsx'), join(source, 'style.css')],
    target: 'browser',
    naming: '[name].[ext]',
    define: { 'process.env.NODE_ENV': '"production"' },
    jsx: { runtime: 'automatic', importSource: 'preact', development: false },
  });
  const files = new Map<string, Blob>(outputs.map((output) => [`/${output.path.split('/').at(-1)}`, output]));
  const texts = `globalThis.latchkeyTexts = ${JSON.stringify(allTexts.en)};`;
  files.set('/texts.js', new Blob([texts], { type: 'text/javascript' }));
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request) => {
      const { pathname } = new URL(request.url);
      if (pathname === '/') return new Response(html, { headers: pageHeaders() });
      return new Response(files.get(pathname) ?? null, { status: files.has(pathname) ? 200 : 404 });
    },
  });
  return { url: server.url.href, stop: () => server.stop(true) };
}
