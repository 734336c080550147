// The documents match the repository, and what is generated is up to date.

import { expect, test } from 'bun:test';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Glob } from 'bun';
import { endpoints } from '../../packages/contract/src/endpoints.ts';
import { endSessionPath } from '../../packages/contract/src/openid.ts';
import { commandLineSettings, settingNames } from '../../packages/server/src/settings.ts';
import { designSets } from '../../tools/design-sets.ts';
import { settingsPage } from '../../tools/settings-page.ts';

const root = join(import.meta.dir, '../..');
const server = 'packages/server/src';
const maxMapBytes = 12_000;

const documents = ['*.md', 'docs/**/*.md', 'packages/*/README.md'].flatMap((pattern) => [
  ...new Glob(pattern).scanSync(root),
]);
const read = (path: string): Promise<string> => Bun.file(join(root, path)).text();

/** Each place in these documents that matches, of which there must be some. */
async function placesOf(pattern: RegExp, among = documents) {
  const places = await Promise.all(
    among.map(async (document) =>
      [...(await read(document)).matchAll(pattern)].map((match) => ({ document, match })),
    ),
  );
  expect(places.flat()).not.toBeEmpty();
  return places.flat();
}

const slug = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .trim()
    .replaceAll(/\s/g, '-');

test('every link from a document to a file of the repository resolves, and so does its heading', async () => {
  for (const { document, match } of await placesOf(/\]\((?![a-z]+:)([^)#]*)(?:#([^)]+))?\)/g)) {
    const [, target = '', anchor] = match;
    const path = target === '' ? document : join(dirname(document), target);
    expect([document, target, existsSync(join(root, path))]).toEqual([document, target, true]);
    if (anchor === undefined) continue;
    const headings = [...(await read(path)).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => slug(heading));
    expect([document, anchor, headings.includes(anchor)]).toEqual([document, anchor, true]);
  }
});

test('the list of guides names every guide, and the README leads to it', async () => {
  const list = await read('docs/README.md');
  for (const path of documents.filter((one) => /^docs\/[^/]+\.md$/.test(one) && one !== 'docs/README.md'))
    expect([path, list.includes(`](${path.slice('docs/'.length)})`)]).toEqual([path, true]);
  expect(await read('README.md')).toContain('](docs/README.md)');
});

test('every file named in a decision record, the threat model or the guide for contributors exists', async () => {
  const namesFiles = (path: string) =>
    path.startsWith('docs/decisions/') || ['docs/threat-model.md', 'CONTRIBUTING.md'].includes(path);
  const file = /`((?!artifacts\/)[a-z-]+\/[a-z0-9_./-]+(?:\.tsx?|\.txt|\/))`/g;
  for (const { document, match } of await placesOf(file, documents.filter(namesFiles))) {
    const path = match[1]!;
    const exists = [server, '.'].some((base) => existsSync(join(root, base, path)));
    expect([document, path, exists]).toEqual([document, path, true]);
  }
});

test('every exported function and class of the SDK has an example, unless it is internal', async () => {
  const { exports } = (await Bun.file(join(root, 'packages/client/package.json')).json()) as {
    exports: Record<string, string>;
  };
  const without: string[] = [];
  let seen = 0;
  for (const [name, file] of Object.entries(exports).filter(([name]) => !name.startsWith('./internal/'))) {
    const text = await read(join('packages/client', file));
    const exported =
      /(\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?export (?:async )?(?:function|class|const (?=\w+ =\s*(?:async )?[(<])) *(\w+)/g;
    for (const [, comment = '', what] of text.matchAll(exported)) {
      seen++;
      if (!/@example|@internal/.test(comment)) without.push(`${name} ${what}`);
    }
  }
  expect(without).toEqual([]);
  expect(seen).toBeGreaterThan(20);
});

test(`ARCHITECTURE.md is a map of at most ${maxMapBytes} bytes, with every folder of the server`, async () => {
  const text = await read('ARCHITECTURE.md');
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxMapBytes);
  const [, map = ''] = /```\n([\s\S]*?)```/.exec(text) ?? [];
  const entries = readdirSync(join(root, server), { withFileTypes: true });
  for (const { name } of entries.filter((entry) => entry.isDirectory())) expect(map).toContain(`${name}/`);
});

const settingPattern = /\bLATCHKEY_[A-Z_]+[A-Z]\b/g;
const settingsIn = (text: string): ReadonlySet<string> => new Set(text.match(settingPattern) ?? []);

test.each(Object.entries({ 'docs/settings.md': settingsPage(), ...designSets() }))(
  '%s is what its tool generates',
  async (path, text) => {
    expect(await read(path)).toBe(text);
  },
);

test('docs/settings.md lists every setting that the code names, and says email; the README names no other setting', async () => {
  const page = settingsPage();
  const listed = settingsIn(page);
  const files = [...new Glob(`${server}/platform/{config,rate-limits}/*.ts`).scanSync(root)];
  const code = await Promise.all(files.filter((path) => !path.endsWith('.test.ts')).map(read));
  for (const setting of [...settingsIn(code.join('\n')), ...settingNames]) {
    if (commandLineSettings.has(setting) || !setting.startsWith('LATCHKEY_')) continue;
    expect([setting, listed.has(setting)]).toEqual([setting, true]);
  }
  expect(page).not.toMatch(/\bmails?\b/i);
  const inReadme = [...settingsIn(await read('README.md'))];
  expect(inReadme.filter((setting) => !settingNames.has(setting))).toEqual([]);
});

test('every API path in a document is an endpoint', async () => {
  const paths = [endSessionPath, ...Object.values(endpoints).map(({ path }) => path)].map((path) =>
    path.replaceAll(/\{\w+\}/g, '[^/\\s]+'),
  );
  for (const { document, match } of await placesOf(/\/api\/v1\/auth\/[\w/{}-]+/g)) {
    const [path] = match;
    const known = paths.some((pattern) => new RegExp(`^${pattern}$`).test(path));
    expect([document, path, known]).toEqual([document, path, true]);
  }
});

test('no document tells people to install from a registry what has not been released there', async () => {
  // A file, such as ./latchkey-0.1.0.tgz, comes from no registry.
  const byName =
    /\b(?:npm (?:i|install|add|exec)|npx -y|bunx|bun (?:add|install)|brew install|apt(?:-get)? install)\b[^`\n]*(?<!\.\/)latchkey/;
  for (const document of documents)
    expect([document, ...(await read(document)).split('\n').filter((line) => byName.test(line))]).toEqual([
      document,
    ]);
});
