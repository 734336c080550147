// Who may import whom (ARCHITECTURE.md). Each rule is a function from source files to complaints; it is held
// against the code as it is, and against a bad example, so that no rule can rot into one that never fails.

import { describe, expect, test } from 'bun:test';
import { join, normalize } from 'node:path';
import { Glob } from 'bun';

interface SourceFile {
  /** From the root of the checkout. */
  readonly path: string;
  readonly text: string;
  /** Files of the workspace as paths from its root, packages by name; type imports count. */
  readonly imports: readonly string[];
}

interface Rule {
  readonly name: string;
  readonly complaints: (files: readonly SourceFile[]) => string[];
  /** Files by path that break the rule once. */
  readonly bad: Readonly<Record<string, string>>;
}

const root = join(import.meta.dir, '../..');
const server = 'packages/server/src/';
const client = 'packages/client/src/';
const cli = 'packages/cli/src/';
const maxFileLines = 500;

/** The parts of the client that are for programs with a file system; all others run in a browser. */
const programParts = ['file-storage.ts', 'keychain-storage.ts', 'process-lock.ts', 'session-bus.ts'].map(
  (name) => client + name,
);

/** Lowest first: a part may import from the levels below, and base parts from each other. */
const levels = [
  ['crypto', 'database', 'http', 'limits', 'mail', 'metrics', 'context.ts', 'config.ts', 'errors.ts'],
  ['events'],
  ['organizations', 'signing-keys'],
  ['notices'],
  ['sessions'],
  ['known-browsers'],
  ['account'],
  ['device', 'email-change', 'magic-links', 'passkeys', 'services'],
  ['disowning', 'personal-data'],
  ['app.ts'],
  ['operator'],
  ['main.ts'],
];
const capabilities = levels.slice(1, 9).flat();

const rules: Rule[] = [
  {
    name: 'every part of the server has its level',
    complaints: (files) =>
      productOf(files, server)
        .filter(({ path }) => levelOf(path) < 0)
        .map(({ path }) => `${path} is in no level of the dependency order`),
    bad: { [`${server}utils/strings.ts`]: '' },
  },
  {
    name: 'dependencies point downwards: base, events, organizations, notices, sessions, known browsers, account, flows, disowning, app, operator, main',
    complaints: (files) =>
      serverImports(files)
        .filter(({ from, to }) => partOf(from) !== partOf(to) && levelOf(to) >= Math.max(levelOf(from), 1))
        .map(({ from, to }) => `${from} imports ${to}`),
    bad: { [`${server}sessions/sessions.ts`]: "import { approve } from '../../device/device.ts';" },
  },
  {
    name: 'base knows no capability',
    complaints: (files) =>
      serverImports(files)
        .filter(({ from, to }) => levelOf(from) === 0 && levelOf(to) > 0)
        .map(({ from, to }) => `${from} imports ${to}`),
    bad: { [`${server}mail/worker.ts`]: "import type { Event } from '../../events/events.ts';" },
  },
  {
    name: 'flows do not know each other',
    complaints: (files) =>
      serverImports(files)
        .filter(({ from, to }) => partOf(from) !== partOf(to) && levelOf(from) > 0)
        .filter(({ from, to }) => levelOf(from) === levelOf(to))
        .map(({ from, to }) => `${from} imports ${to}`),
    bad: { [`${server}device/device.ts`]: "import { check } from '../../passkeys/passkeys.ts';" },
  },
  {
    name: 'of a capability all but app.ts, which puts the parts together, see only its main file',
    complaints: (files) =>
      serverImports(files)
        .filter(({ from, to }) => capabilities.includes(partOf(to)) && partOf(from) !== partOf(to))
        .filter(({ from }) => partOf(from) !== 'app.ts')
        .filter(({ to }) => to !== `${server}${partOf(to)}/${partOf(to)}.ts`)
        .map(({ from, to }) => `${from} imports ${to}`),
    bad: { [`${server}account/account.ts`]: "import { revoke } from '../../sessions/store.ts';" },
  },
  {
    name: 'only stores and database/ know SQL',
    complaints: (files) =>
      packageImports(files, ['kysely', 'kysely-postgres-js', 'postgres', 'bun:sqlite'])
        .filter(({ from }) => !/\/(store|outbox-store)\.ts$/.test(from) && partOf(from) !== 'database')
        .map(({ from, to }) => `${from} imports ${to}`),
    bad: { [`${server}sessions/sessions.ts`]: "import { sql } from 'kysely';" },
  },
  {
    name: 'only http/routing.ts knows Hono',
    complaints: (files) =>
      packageImports(files, ['hono'])
        .filter(({ from }) => from !== `${server}http/routing.ts`)
        .map(({ from, to }) => `${from} imports ${to}`),
    bad: { [`${server}device/routes.ts`]: "import { Hono } from 'hono';" },
  },
  {
    name: 'only config.ts reads the environment',
    complaints: (files) =>
      productOf(files, 'packages/')
        .filter(({ path }) => !path.endsWith('/config.ts'))
        .filter(({ text, imports }) => {
          const code = withoutComments(text);
          return (
            /\b(process|Bun|import\.meta)\s*(\.\s*env\b|\[\s*'env')/.test(code) ||
            /\benv\b[^;]*}\s*=\s*(process|Bun)\b/.test(code) ||
            (/import\s*{[^}]*\benv\b/.test(code) &&
              imports.some((name) => /^(node:process|process|bun)$/.test(name)))
          );
        })
        .map(({ path }) => `${path} reads the environment`),
    bad: { [`${server}mail/transport.ts`]: "const url = process.env['LATCHKEY_SMTP_URL'];" },
  },
  {
    name: 'only the security log sees keys that left the ring',
    complaints: (files) =>
      productOf(files, server)
        .filter(({ path }) => !/^(context|main)\.ts$|^events\//.test(path.slice(server.length)))
        .filter(({ text }) => /\blogKeys\b/.test(withoutComments(text)))
        .map(({ path }) => `${path} uses the keys of the security log`),
    bad: { [`${server}sessions/tokens.ts`]: "readHandle(ctx.logKeys, 'accessToken', text);" },
  },
  {
    name: 'nothing imports in a circle',
    complaints: cycles,
    bad: {
      [`${server}sessions/tokens.ts`]: "import { end } from '../end.ts';",
      [`${server}sessions/end.ts`]: "import type { Token } from '../tokens.ts';",
    },
  },
  {
    name: 'no file only hands on what others export',
    complaints: (files) => files.filter(isBarrel).map(({ path }) => `${path} is a barrel`),
    bad: { [`${server}sessions/index.ts`]: "export * from '../sessions.ts';\nexport { a } from '../a.ts';" },
  },
  {
    name: 'the contract needs nothing but zod',
    complaints: (files) =>
      productOf(files, 'packages/contract/')
        .flatMap(({ path, imports }) => imports.map((to) => ({ from: path, to })))
        .filter(({ to }) => to !== 'zod' && !to.startsWith('packages/contract/src/'))
        .map(({ from, to }) => `${from} imports ${to}`),
    bad: { 'packages/contract/src/fields.ts': "import { isIP } from 'node:net';" },
  },
  {
    name: 'the client needs nothing when it runs: the contract only lends its types',
    complaints: (files) =>
      productOf(files, client).flatMap(({ path, text, imports }) =>
        [
          ...imports.filter((to) => !to.startsWith('packages/') && !to.startsWith('node:')),
          ...imports.filter((to) => to.startsWith('packages/') && !/^packages\/(client|contract)\//.test(to)),
          ...valuesFrom('@latchkey/contract', text),
        ].map((to) => `${path} imports ${to}`),
      ),
    bad: { [`${client}operations.ts`]: "import { endpoints } from '@latchkey/contract/endpoints';" },
  },
  {
    name: 'what pages use of the client knows no node: module, not even through another file',
    complaints: (files) =>
      productOf(files, client)
        .filter(({ path }) => !programParts.includes(path))
        .flatMap(({ path, imports }) => imports.map((to) => ({ from: path, to })))
        .filter(({ to }) => to.startsWith('node:') || programParts.includes(to))
        .map(({ from, to }) => `${from} imports ${to}`),
    bad: { [`${client}session.ts`]: "import { fileStorage } from '../file-storage.ts';" },
  },
  {
    name: 'pages and command line reach the service only by the client',
    complaints: (files) =>
      [...productOf(files, 'packages/dashboard/'), ...productOf(files, 'packages/cli/')].flatMap(
        ({ path, text, imports }) => [
          ...imports
            .filter((to) => to.startsWith(server) || /^(node:)?(https?|http2|net)$/.test(to))
            .map((to) => `${path} imports ${to}`),
          ...(asksByItself(text) ? [`${path} makes requests of its own`] : []),
        ],
      ),
    bad: { 'packages/dashboard/src/api.ts': "const me = await fetch('/me');" },
  },
  {
    name: 'of the command line only main.ts touches the process: its arguments, streams, signals and end',
    complaints: (files) =>
      productOf(files, cli)
        .filter(({ path }) => path !== `${cli}main.ts`)
        .filter(({ text }) =>
          /\bprocess\s*\.\s*(argv|on|once|exit|exitCode|kill|std(in|out|err))\b|\bconsole\b|\bBun\.std/.test(
            withoutComments(text),
          ),
        )
        .map(({ path }) => `${path} touches the process`),
    bad: { [`${cli}commands/token.ts`]: 'process.stdout.write(token);' },
  },
  {
    name: 'a command knows no other command, and only program.ts knows them, when one is run',
    complaints: (files) =>
      productOf(files, cli).flatMap(({ path, text, imports }) =>
        imports
          .filter((to) => to.startsWith(`${cli}commands/`))
          .filter(
            () => path !== `${cli}program.ts` || valuesFrom('./commands', staticImports(text)).length > 0,
          )
          .map((to) => `${path} imports ${to}`),
      ),
    bad: { [`${cli}program.ts`]: "import { token } from '../commands/token.ts';" },
  },
  {
    name: `no file is longer than ${maxFileLines} lines`,
    complaints: (files) =>
      files
        .map(({ path, text }) => ({ path, lines: text.trimEnd().split('\n').length }))
        .filter(({ lines }) => lines > maxFileLines)
        .map(({ path, lines }) => `${path} has ${lines} lines`),
    bad: { [`${server}app.ts`]: 'a();\n'.repeat(maxFileLines + 1) },
  },
];

describe('import rules', async () => {
  const files = await readSources();

  test('the sources are found and their imports understood', () => {
    const text = `// import a from 'a';
      import b from 'b'; import type { C } from "../../c.ts";
      import {
        d,
      } from '@latchkey/contract/d';
      import '../e.ts';
      export { f } from '../f.ts';
      const g = await import('../g.ts'), h: import('h').H = "from 'i'";`;
    expect(importsOf('packages/server/src/x/y.ts', text).toSorted()).toEqual([
      ...['b', 'h', 'packages/contract/src/d.ts', `${server}c.ts`, `${server}x/e.ts`],
      ...[`${server}x/f.ts`, `${server}x/g.ts`],
    ]);
    expect(serverImports(files).length).toBeGreaterThan(50);
  });

  for (const { name, complaints, bad } of rules) {
    test(name, () => {
      expect(complaints(files)).toEqual([]);
      expect(complaints(Object.entries(bad).map(([path, text]) => source(path, text)))).toHaveLength(1);
    });
  }
});

async function readSources(): Promise<SourceFile[]> {
  const files: SourceFile[] = [];
  for await (const path of new Glob('packages/*/src/**/*.{ts,tsx}').scan(root)) {
    files.push(source(path, await Bun.file(join(root, path)).text()));
  }
  return files.toSorted((a, b) => a.path.localeCompare(b.path));
}

function source(path: string, text: string): SourceFile {
  return { path, text, imports: importsOf(path, text) };
}

function importsOf(path: string, text: string): string[] {
  const statement = /(?:^|;)\s*(?:import|export)\b(?:[\w\s{},*$]*\bfrom)?\s*['"]([^'"]+)['"]/gm;
  const call = /\bimport\(\s*['"]([^'"]+)['"]/g;
  const code = withoutComments(text);
  const names = [...code.matchAll(statement), ...code.matchAll(call)].map((match) => match[1] ?? '');
  return [...new Set(names.map((name) => resolve(path, name)))];
}

function resolve(path: string, name: string): string {
  if (name.startsWith('.')) return normalize(join(path, '..', name));
  const [, workspace, file] = /^@latchkey\/([\w-]+)\/(.+)$/.exec(name) ?? [];
  return workspace && file ? `packages/${workspace}/src/${file}.ts` : name;
}

/** Takes out whole-line and block comments; what stands behind code stays. */
function withoutComments(text: string): string {
  return text.replace(/^\s*\/\*[\s\S]*?\*\//gm, '').replace(/^\s*\/\/.*$/gm, '');
}

/** The files under this path that are no tests: tests may look at everything. */
function productOf(files: readonly SourceFile[], under: string): SourceFile[] {
  return files.filter(({ path }) => path.startsWith(under) && !/\.test\.tsx?$/.test(path));
}

/** The folder, or file, directly under the server's sources. */
function partOf(path: string): string {
  return path.startsWith(server) ? (path.slice(server.length).split('/')[0] ?? '') : '';
}

function levelOf(path: string): number {
  return levels.findIndex((parts) => parts.includes(partOf(path)));
}

function serverImports(files: readonly SourceFile[]): { from: string; to: string }[] {
  return productOf(files, server).flatMap(({ path, imports }) =>
    imports.filter((to) => to.startsWith(server)).map((to) => ({ from: path, to })),
  );
}

/** The server's imports of these packages, or of something inside them. */
function packageImports(files: readonly SourceFile[], names: string[]): { from: string; to: string }[] {
  return productOf(files, 'packages/').flatMap(({ path, imports }) =>
    imports
      .filter((to) => names.some((name) => to === name || to.startsWith(`${name}/`)))
      .map((to) => ({ from: path, to })),
  );
}

/** What is imported from this package other than as a type. */
function valuesFrom(name: string, text: string): string[] {
  const statement = /(?:^|;)\s*(?:import|export)\s+(?!type\b)[^;'"]*?\bfrom\s*['"]([^'"]+)['"]/gm;
  const call = /\bimport\(\s*['"]([^'"]+)['"]\s*\)(?!\.)/g;
  const code = withoutComments(text);
  return [...code.matchAll(statement), ...code.matchAll(call)]
    .map((match) => match[1] ?? '')
    .filter((from) => from.startsWith(`${name}/`));
}

/** Without what is loaded only when it is needed. */
const staticImports = (text: string): string => text.replace(/\bimport\([^)]*\)/g, '');

/** A request that goes past the client, or a path that only the client should know. */
function asksByItself(text: string): boolean {
  const code = withoutComments(text);
  return /(?:^|[^.\w]|\b(?:globalThis|window|self|Bun)\.)fetch\s*\(|XMLHttpRequest|sendBeacon|\/api\/v1/.test(
    code,
  );
}

/** Every circle once, as the way around it. */
function cycles(files: readonly SourceFile[]): string[] {
  const importsByPath = new Map(files.map(({ path, imports }) => [path, imports]));
  const finished = new Set<string>();
  const found: string[] = [];
  const visit = (path: string, way: readonly string[]): void => {
    const start = way.indexOf(path);
    if (start >= 0) found.push([...way.slice(start), path].join(' -> '));
    if (start >= 0 || finished.has(path)) return;
    for (const next of importsByPath.get(path) ?? []) visit(next, [...way, path]);
    finished.add(path);
  };
  for (const { path } of files) visit(path, []);
  return found;
}

function isBarrel({ text }: SourceFile): boolean {
  const code = withoutComments(text);
  const handedOn =
    /^\s*(?:import|export)\b[\w\s{},*$]*\bfrom\s*['"][^'"]+['"];?|^\s*export\s*(?:type\s*)?{[^}]*};?/gm;
  return /^\s*export\b/m.test(code) && code.replace(handedOn, '').trim() === '';
}
