// Writes `dist/site.json`: the web pages and their assets, served from memory or compiled into the binary.

import { rename } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type Language, languages } from '@latchkey/contract/languages';
import { allTexts, type PageTexts } from './src/languages/all.ts';
import { linkIcon } from './src/ui/icons.ts';

interface Page {
  readonly title: (texts: PageTexts) => string;
  /** What its scripts say, besides what all pages say. */
  readonly says: readonly (keyof PageTexts)[];
  /** For a page with much to show. Others show a question in the middle of the screen. */
  readonly isWide?: boolean;
}

/** Page name (its folder and entry script) to what is its own. */
const pages: Readonly<Record<string, Page>> = {
  login: { title: ({ common }) => common.signIn, says: ['login'] },
  'magic-link': { title: ({ common }) => common.signIn, says: ['emailLink', 'magicLink'] },
  device: { title: ({ device }) => device.heading, says: ['device', 'confirm'] },
  authorize: { title: ({ authorize }) => authorize.heading, says: ['authorize', 'device', 'confirm'] },
  'sign-out': { title: ({ common }) => common.signOut, says: ['signOut'] },
  account: { title: ({ account }) => account.heading, says: ['account', 'confirm'], isWide: true },
  'verify-email': { title: ({ verifyEmail }) => verifyEmail.heading, says: ['emailLink', 'verifyEmail'] },
  'not-me': { title: ({ notMe }) => notMe.heading, says: ['emailLink', 'notMe'] },
};

const saidByAll = ['common', 'errors'] as const;

const root = import.meta.dir;
const dist = join(root, 'dist');

interface Parts {
  readonly title: string;
  readonly isWide?: boolean | undefined;
  /** Tags that load the scripts. Omitted for a static page. */
  readonly head?: string;
  readonly main: string;
}

/** The service replaces `{{…}}` when it starts, with the name, the logo and the links of the product. */
const html = (language: Language, { title, isWide = false, head = '', main }: Parts) => {
  const { help, legal } = allTexts[language].frame;
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<meta name="application-name" content="{{name}}">
<title>${Bun.escapeHTML(title)} - {{name}}</title>
<link rel="icon" href="{{icon}}">
<link rel="stylesheet" href="/assets/${style}">
${head}</head>
<body class="${isWide ? 'wide' : 'centered'}">
<header><a href="/account">{{logo}} {{name}}</a></header>
<main>${main}</main>
{{footer:${help}|${legal}}}</body>
</html>
`;
};

/** The HTML of a page. Its scripts run in the order of their tags: the first sets the texts. */
function scripted(
  { title, isWide }: Page,
  language: Language,
  scripts: string[],
  imported: string[],
): string {
  const { frame } = allTexts[language];
  return html(language, {
    title: title(allTexts[language]),
    isWide,
    head: [
      ...scripts.map((file) => `<script type="module" src="/assets/${file}"></script>\n`),
      ...imported.map((file) => `<link rel="modulepreload" href="/assets/${file}">\n`),
    ].join(''),
    main: `<noscript><p>${frame.needsScript}</p></noscript>
<p class="load-error">${frame.loadError}</p>`,
  });
}

function notFound(language: Language): string {
  const { frame, common } = allTexts[language];
  const { title, text } = frame.notFound;
  // As the pages show an outcome.
  const main = `<div class="outcome">
<span class="sign caution"><svg class="icon" width="20" height="20" viewBox="0 0 24 24" aria-hidden="true"><path d="${linkIcon}"/></svg></span>
<h1>${title}</h1>
<p>${text}</p>
<p><a href="/account">${Bun.escapeHTML(common.toAccount)}</a></p>
</div>`;
  return html(language, { title, main });
}

/** The script with what a page says in a language, as its name and content. */
function textsScript(name: string, { says }: Page, language: Language): readonly [string, string] {
  const said = [...saidByAll, ...says].map((group) => [group, allTexts[language][group]]);
  const script = `globalThis.latchkeyTexts=${JSON.stringify(Object.fromEntries(said))};\n`;
  const hash = new Bun.CryptoHasher('sha256').update(script).digest('hex').slice(0, 8);
  return [`${name}-${language.toLowerCase()}-${hash}.js`, script];
}

const inEachLanguage = <T>(make: (language: Language) => T) =>
  Object.fromEntries(languages.map((language) => [language, make(language)]));

const result = await Bun.build({
  entrypoints: [
    ...Object.keys(pages).map((name) => join(root, 'src', name, `${name}.tsx`)),
    join(root, 'src', 'style.css'),
    join(root, 'src', 'reference', 'reference.ts'),
    join(root, 'src', 'reference', 'reference.css'),
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
const texts = new Map<string, string>();
const site = {
  pages: Object.fromEntries(
    Object.entries(pages).map(([name, page]) => {
      const script = asset(name, '.js');
      const imported = importedBy(script);
      const inLanguages = inEachLanguage((language) => {
        const [file, content] = textsScript(name, page, language);
        texts.set(file, content);
        return scripted(page, language, [file, script], imported);
      });
      return [name, inLanguages];
    }),
  ),
  reference: { script: asset('reference', '.js'), styles: [style, asset('reference', '.css')] },
  notFound: inEachLanguage(notFound),
  assets: {
    ...Object.fromEntries(
      await Promise.all(
        result.outputs.map(async (output) => [basename(output.path), await output.text()] as const),
      ),
    ),
    ...Object.fromEntries(texts),
  },
};

// Written to a temporary file and renamed, so that a reader or a concurrent build never sees half a site.
const temporary = join(dist, `site-${process.pid}.json`);
await Bun.write(temporary, JSON.stringify(site));
await rename(temporary, join(dist, 'site.json'));
