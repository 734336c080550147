// The import rules of ARCHITECTURE.md that the linter cannot check: for cycles, barrels, Hono, SQL and the length of files see biome.json.
// Each rule says what it finds in a file. It is checked against the code and against bad examples, so that no rule can degrade into one
// that never finds anything.

import { describe, expect, test } from 'bun:test';
import { basename, join, normalize } from 'node:path';
import { Glob } from 'bun';

interface SourceFile {
  /** Relative to the root of the repository. */
  readonly path: string;
  /** Its text, without comments. */
  readonly code: string;
  /** Workspace files as paths from the root, packages by name. Includes type imports. */
  readonly imports: readonly string[];
}

interface Rule {
  readonly name: string;
  /** The folder of the files that it is about. Tests may do anything. */
  readonly under: string;
  /** What breaks the rule in a file. */
  readonly finds: (file: SourceFile) => readonly string[];
  /** Files of that folder, each of which breaks the rule once. */
  readonly bad: readonly (readonly [path: string, text: string])[];
}

const root = join(import.meta.dir, '../..');
const server = 'packages/server/src/';
const client = 'packages/client/src/';
const cli = 'packages/cli/src/';

/** Parts of the client that need a file system. All others run in a browser. */
const programParts = [
  ...['agent-forwarder', 'agent-server', 'agent', 'browser-login', 'environment', 'federation'],
  ...['loopback-listener', 'storage/file-storage', 'storage/keychain-storage', 'storage/lock-claim'],
  ...['small-file', 'storage/process-lock', 'storage/secret-service', 'storage/session-bus'],
].map((name) => `${client}${name}.ts`);

/** The only files that read the environment. */
const environmentFiles = [
  `${server}platform/config/environment.ts`,
  `${cli}config.ts`,
  `${client}environment.ts`,
  `${client}federation.ts`,
];

/**
 * The modules of the server, lowest first. A module imports only from modules below it; modules in one line are peers and do
 * not import each other. A module is a folder, or a file on its own; what is before its slash is its layer.
 */
const layers = `
  platform/errors.ts platform/values
  platform/crypto platform/outgoing platform/telemetry platform/timers.ts
  platform/database
  platform/rate-limits
  platform/config
  platform/context.ts
  platform/http
  platform/mail platform/token-endpoint
  accounts
  security-log/settings.ts security-log/events security-log/feed-events
  security-log/notices
  services
  sessions
  identity/settings.ts identity/known-browsers identity/organizations
  identity/account
  identity/email-change
  sign-in/settings.ts sign-in/failures
  sign-in/passkeys
  sign-in/authorize sign-in/device sign-in/magic-links
  trust/settings.ts trust/signing-keys
  trust/discovery trust/feed trust/introspection trust/openid
  whole-account
  settings.ts
  create-context.ts
  app.ts
  operator
  main.ts
`;

/** The words of each line of a table. */
const wordsOf = (table: string): string[][] =>
  table
    .trim()
    .split(/\n */)
    .map((line) => line.split(' '));

/** Every module, with its height. */
const heights = new Map(
  wordsOf(layers).flatMap((modules, height) => modules.map((module) => [module, height] as const)),
);
const capabilities = [...heights.keys()].filter((module) => !/^platform\/|^operator$|\.ts$/.test(module));
const httpModules = ['platform/http', 'platform/token-endpoint'];

/** The files of a capability that others may import, where these are more than the one that is named like it. */
const publicFiles = new Map(
  wordsOf(`
    accounts locks.ts profile.ts
    security-log/events events.ts reading.ts auditing.ts
    identity/account account.ts users.ts
    sign-in/passkeys passkeys.ts touch.ts
    services authentication.ts clients.ts registration.ts scopes.ts service-keys.ts service-tokens.ts
    whole-account operators.ts personal-data.ts
    sessions sessions.ts active-tokens.ts ending.ts keys/keys.ts starting.ts status.ts touches.ts
  `).map(([module = '', ...files]) => [module, files]),
);

function publicFilesOf(path: string): string[] {
  const module = moduleOf(path) ?? '';
  return (publicFiles.get(module) ?? [`${basename(module)}.ts`]).map((file) => `${server}${module}/${file}`);
}

const product = await readProduct();

/** The owners of the tables that accounts/ declares for the layers above: they need the log, which reads these tables. */
const ownersOfRows: Readonly<Record<string, string>> = { users: 'identity/account', sessions: 'sessions' };

/** The module that declares each table, in its `tables.ts`. */
const declaredIn: Readonly<Record<string, string>> = Object.fromEntries(
  product
    .filter(({ path }) => path.startsWith(server) && path.endsWith('/tables.ts'))
    .flatMap(({ path, code }) =>
      [...code.matchAll(/^ {4}(\w+): \{/gm)].map(([, table]) => [table ?? '', moduleOf(path) ?? '']),
    ),
);

/**
 * The module that owns each table: the one that declares it. Other modules read the table but change it only through what its owner
 * exports. Migrations are exempt, and so are copying and restoring a database, which change all tables at once, and rows that the
 * database deletes with the row they reference (ON DELETE CASCADE).
 */
const tableOwners = { ...declaredIn, ...ownersOfRows };

const rules: Rule[] = [
  {
    name: 'every file of the server belongs to a module of a layer',
    under: server,
    finds: ({ path }) => (moduleOf(path) === undefined ? ['no module'] : []),
    bad: [['utils/strings.ts', '']],
  },
  {
    name: 'layers and modules import only from those below them',
    under: server,
    finds: ({ path, imports }) => imports.filter((to) => isOther(path, to) && heightOf(to) >= heightOf(path)),
    bad: [
      ['sessions/sessions.ts', "import { approve } from '../sign-in/device/device.ts';"],
      ['platform/mail/worker.ts', "import type { Event } from '../../security-log/events/events.ts';"],
    ],
  },
  {
    name: 'the platform declares no rate limit, and only the settings that it uses',
    under: `${server}platform/`,
    finds: ({ code }) => code.match(/satisfies Rules\b|interface Config extends ConfigOf/g) ?? [],
    bad: [['mail/limits.ts', 'export const mailLimits = {} as const satisfies Rules;']],
  },
  {
    name: 'other capabilities import only the public files of a capability; app.ts and settings.ts, which compose them, are exempt',
    under: server,
    finds: ({ path, imports }) =>
      ['app.ts', 'settings.ts'].includes(moduleOf(path) ?? '')
        ? []
        : imports.filter((to) => isOther(path, to) && isCapability(to) && !publicFilesOf(to).includes(to)),
    bad: [['identity/account/account.ts', "import { revoke } from '../../sessions/store.ts';"]],
  },
  {
    name: 'only the owner of a table inserts, updates and deletes its rows',
    under: server,
    finds: (file) =>
      tablesWrittenBy(file).filter(
        (table) => table in tableOwners && tableOwners[table] !== moduleOf(file.path),
      ),
    bad: [
      ['sessions/store.ts', "db.updateTable('users').set({ session_epoch: 1 });"],
      ['whole-account/store.ts', "db\n  .deleteFrom('passkeys as p')"],
      ['identity/email-change/store.ts', "db.insertInto('notices').values(row);"],
      ['services/store.ts', 'sql`UPDATE "signing_keys" SET signs_from = 0`;'],
      ['platform/database/inspect.ts', "await db.run('delete\n from users', []);"],
      ['platform/database/probe.ts', "sql.raw('INSERT INTO public.outbox (id) VALUES (1)');"],
      ['sign-in/device/store.ts', "sweepStatement()('sessions', 'id', ended);"],
    ],
  },
  {
    name: 'a store reads only tables that its own layer or one below it declares',
    under: server,
    finds: (file) =>
      tablesReadBy(file).filter(
        (table) => layerNames.indexOf(layerOf(file.path)) < layerNames.indexOf(layerOfTable(table)),
      ),
    bad: [
      ['sessions/store.ts', "db.selectFrom('device_authorizations as d').selectAll();"],
      ['security-log/notices/store.ts', "db.selectFrom('notices')\n.leftJoin(\n'passkeys', 'a', 'b');"],
      ['services/store.ts', 'sql`SELECT 1 FROM declarations d JOIN memberships m ON true`;'],
      ['platform/database/probe.ts', "db.run('select 1\nfrom users', []);"],
    ],
  },
  {
    name: 'only sessions/status.ts writes the conditions under which a session is active',
    under: server,
    finds: (file) =>
      file.path.endsWith('/store.ts') && /\bsessions\b/.test(file.code) ? statusConditionsIn(file) : [],
    bad: [
      ['sign-in/device/store.ts', "e.selectFrom('sessions').where('revoked_at', 'is', null);"],
      ['sessions/apps/store.ts', "q.selectFrom('sessions').where((e) => e('idle_expires_at', '>', p.now));"],
      ['programs/store.ts', 'sql`SELECT 1 FROM sessions s WHERE s.session_epoch = u.session_epoch`;'],
      [
        'identity/account/store.ts',
        "join('sessions as s', (j) => j\n.onRef(\n's.session_epoch', '=', 'u.session_epoch'));",
      ],
    ],
  },
  {
    name: 'only a tables.ts declares tables, and every statement that writes names its table literally',
    under: server,
    finds: (file) => [
      ...(file.path.endsWith('/tables.ts') ? [] : (file.code.match(/interface Tables \{[^}]/g) ?? [])),
      ...tablesWrittenBy(file).filter((table) => table === ''),
    ],
    bad: [
      ['platform/database/schema.ts', 'export interface Tables {\n  diaries: { id: string };\n}'],
      ['sessions/store.ts', 'db.deleteFrom(table).where(isOld);'],
    ],
  },
  {
    name: 'within a capability, only routes.ts depends on HTTP',
    under: server,
    finds: ({ path, imports }) =>
      isCapability(path) && !path.endsWith('/routes.ts')
        ? imports.filter((to) => httpModules.includes(moduleOf(to) ?? ''))
        : [],
    bad: [
      ['sessions/sessions.ts', "import type { Call } from '../platform/http/pipeline.ts';"],
      ['sessions/runs/runs.ts', "import type { Grant } from '../../platform/token-endpoint/grants.ts';"],
    ],
  },
  {
    name: 'only config/environment.ts of the server, config.ts of the command line, environment.ts and federation.ts of the SDK read the environment',
    under: 'packages/',
    finds: ({ path, code }) =>
      environmentFiles.includes(path)
        ? []
        : (code.match(
            /\b(process|Bun|import\.meta)\s*(\.|\[\s*')\s*env\b|\benv\b[^;]*}\s*(=|from)\s*'?(node:)?(process|bun)\b/gi,
          ) ?? []),
    bad: [
      ['server/src/platform/mail/transport.ts', "const url = process.env['LATCHKEY_SMTP_URL'];"],
      ['cli/src/main.ts', "import { argv, env } from 'node:process';"],
    ],
  },
  {
    name: 'only the security log uses retired keys',
    under: server,
    finds: ({ path, code }) =>
      /^(platform\/context|create-context|operator\/open-store)\.ts$|^security-log\/events\//.test(
        path.slice(server.length),
      )
        ? []
        : (code.match(/\blogKeys\b/g) ?? []),
    bad: [['sessions/tokens.ts', "readHandle(ctx.logKeys, 'accessToken', text);"]],
  },
  {
    name: 'the contract depends only on zod, and on tr46 for domains',
    under: 'packages/contract/',
    finds: ({ path, imports }) => {
      const allowed = path.endsWith('/domains.ts') ? ['zod', 'tr46'] : ['zod'];
      return imports.filter((to) => !allowed.includes(to) && !to.startsWith('packages/contract/src/'));
    },
    bad: [['src/fields.ts', "import { isIP } from 'node:net';"]],
  },
  {
    name: 'the client has no runtime dependencies: it imports only types from the contract',
    under: client,
    finds: ({ code, imports }) => [
      ...imports.filter((to) => !/^(node:|packages\/(client|contract)\/)/.test(to)),
      ...loadedBy(code)
        .filter(({ path }) => path.startsWith('@latchkey/contract/'))
        .map(({ path }) => path),
    ],
    bad: [['operations.ts', "import { endpoints } from '@latchkey/contract/endpoints';"]],
  },
  {
    name: 'the parts of the client used by pages import no node: module, even indirectly',
    under: client,
    finds: ({ path, imports }) =>
      programParts.includes(path)
        ? []
        : imports.filter((to) => to.startsWith('node:') || programParts.includes(to)),
    bad: [['session.ts', "import { fileStorage } from './storage/file-storage.ts';"]],
  },
  {
    name: 'pages and the command line call the service only through the client',
    under: 'packages/',
    finds: ({ path, code, imports }) =>
      /^packages\/(dashboard|cli)\//.test(path)
        ? [
            ...imports.filter((to) => to.startsWith(server) || /^(node:)?(https?|http2|net)$/.test(to)),
            // Requests that bypass the client, and paths that only the client should know.
            ...(code.match(
              /(?:^|[^.\w]|\b(?:globalThis|window|self|Bun)\.)fetch\s*\(|XMLHttpRequest|sendBeacon|\/api\/v1/g,
            ) ?? []),
          ]
        : [],
    bad: [['dashboard/src/api.ts', "const me = await fetch('/me');"]],
  },
  {
    name: 'in the command line, only main.ts uses the process: arguments, streams, signals and exit',
    under: cli,
    finds: ({ path, code }) =>
      path === `${cli}main.ts`
        ? []
        : (code.match(
            /\bprocess\s*\.\s*(argv|on|once|exit|exitCode|kill|std(in|out|err))\b|\bconsole\b|\bBun\.std/g,
          ) ?? []),
    bad: [['commands/token.ts', 'process.stdout.write(token);']],
  },
  {
    name: 'commands do not import each other; only program.ts and token-commands.ts import them, on demand',
    under: cli,
    finds: ({ path, code, imports }) =>
      [`${cli}program.ts`, `${cli}token-commands.ts`].includes(path)
        ? loadedBy(code)
            .filter(({ path, kind }) => path.startsWith('./commands/') && kind !== 'dynamic-import')
            .map(({ path }) => path)
        : imports.filter((to) => to.startsWith(`${cli}commands/`)),
    bad: [['program.ts', "import { token } from './commands/token.ts';"]],
  },
];

describe('import rules', () => {
  test('the import rules see all sources and parse their imports', () => {
    const text = `// import a from 'a';
      import b from 'b'; import type { C } from "../c.ts";
      import {
        d,
      } from '@latchkey/contract/d';
      import './e.ts';
      export { f } from './f.ts';
      const g = await import('./g.ts'), h: import('h').H = "from 'i'";`;
    expect(source('packages/server/src/x/y.ts', text).imports.toSorted()).toEqual([
      ...['b', 'h', 'packages/contract/src/d.ts', `${server}c.ts`, `${server}x/e.ts`],
      ...[`${server}x/f.ts`, `${server}x/g.ts`],
    ]);
    expect(product.flatMap(({ imports }) => imports).length).toBeGreaterThan(500);
    const written = new Set(product.flatMap(tablesWrittenBy));
    expect(Object.keys(tableOwners).filter((table) => !written.has(table))).toEqual([]);
  });

  for (const { name, under, finds, bad } of rules) {
    const complaints = (files: readonly SourceFile[]) =>
      files
        .filter(({ path }) => path.startsWith(under))
        .flatMap((file) => finds(file).map((found) => `${file.path}: ${found}`));
    test(name, () => {
      expect(complaints(product)).toEqual([]);
      for (const [path, text] of bad) expect(complaints([source(under + path, text)])).toHaveLength(1);
    });
  }
});

/** All files but tests, which may import anything. */
async function readProduct(): Promise<SourceFile[]> {
  const paths = [...new Glob('packages/*/src/**/*.{ts,tsx}').scanSync(root)].filter(
    (path) => !/\.test\.tsx?$/.test(path),
  );
  return Promise.all(
    paths.toSorted().map(async (path) => source(path, await Bun.file(join(root, path)).text())),
  );
}

function source(path: string, text: string): SourceFile {
  const code = withoutComments(text);
  return { path, code, imports: importsOf(path, code) };
}

function importsOf(path: string, code: string): string[] {
  const statement = /(?:^|;)\s*(?:import|export)\b(?:[\w\s{},*$]*\bfrom)?\s*['"]([^'"]+)['"]/gm;
  const call = /\bimport\(\s*['"]([^'"]+)['"]/g;
  const names = [...code.matchAll(statement), ...code.matchAll(call)].map((match) => match[1] ?? '');
  return [...new Set(names.map((name) => resolve(path, name)))];
}

function resolve(path: string, name: string): string {
  if (name.startsWith('.')) return normalize(join(path, '..', name));
  const [, workspace, file] = /^@latchkey\/([\w-]+)\/(?:internal\/)?(.+)$/.exec(name) ?? [];
  return workspace && file ? `packages/${workspace}/src/${file}.ts` : name;
}

/** Removes block comments and whole-line comments, but not comments after code. */
function withoutComments(text: string): string {
  return text.replace(/^\s*\/\*[\s\S]*?\*\//gm, '').replace(/^\s*\/\/.*$/gm, '');
}

/** The module a file is in: the folder or file of `layers` that holds it. */
function moduleOf(path: string): string | undefined {
  if (!path.startsWith(server)) return undefined;
  const parts = path.slice(server.length).split('/');
  return [parts.slice(0, 2).join('/'), parts[0] ?? ''].find((module) => heights.has(module));
}

const layerOf = (path: string): string => moduleOf(path)?.split('/')[0] ?? '';

/** The layers, lowest first. */
const layerNames = [...new Set([...heights.keys()].map((module) => module.split('/')[0]))];

const layerOfTable = (table: string): string => declaredIn[table]?.split('/')[0] ?? '';

const heightOf = (path: string): number => heights.get(moduleOf(path) ?? '') ?? -1;

const isCapability = (path: string): boolean => capabilities.includes(moduleOf(path) ?? '');

/** Whether an import of a file of the server leads to another module of it. */
const isOther = (from: string, to: string): boolean =>
  to.startsWith(server) && moduleOf(from) !== moduleOf(to);

const isMigration = ({ path }: SourceFile): boolean =>
  path.startsWith(`${server}platform/database/migrations/`);

/** The tables that a file writes to, through Kysely or SQL; '' if a statement does not name its table literally. */
function tablesWrittenBy(file: SourceFile): string[] {
  if (isMigration(file)) return [];
  const byBuilder =
    /\b(?:insertInto|replaceInto|updateTable|deleteFrom|mergeInto|sweepStatement(?:<[^>]*>)?\(\))\(\s*(?:['"](\w+))?/g;
  const bySql = /\b(?:insert\s+into|update|delete\s+from)\s+(?:only\s+)?(?:"?\w+"?\.)?"?(\w+)/gi;
  const named = [...file.code.matchAll(byBuilder)].map(([, table = '']) => table);
  return [...named, ...[...file.code.matchAll(bySql)].map(([, table = '']) => table.toLowerCase())];
}

/** The tables that a file reads, through Kysely or SQL. */
function tablesReadBy(file: SourceFile): string[] {
  if (isMigration(file)) return [];
  const byBuilder = /\b(?:selectFrom|using|\w+Join)\(\s*['"](\w+)/g;
  const bySql = /\b(?:from|join)\s+(?:"?\w+"?\.)?"?(\w+)/gi;
  const read = [...file.code.matchAll(byBuilder), ...file.code.matchAll(bySql)];
  return read.map(([, table = '']) => table).filter((table) => table in declaredIn);
}

/** Conditions of a store, by the builder or in SQL, on columns that decide whether a session is active. */
function statusConditionsIn({ path, code }: SourceFile): string[] {
  const isOwnerOfUsers = moduleOf(path) === tableOwners['users'];
  const column = `(?:revoked_at|idle_expires_at|session_epoch${isOwnerOfUsers ? '' : '|disabled_at'})`;
  const byBuilder = `'(?:\\w+\\.)?${column}',\\s*'(?:is|in|[<>=!])`;
  return code.match(new RegExp(`${byBuilder}|\\b${column}"?\\s*(?:is\\b|[<>=])`, 'gi')) ?? [];
}

/** What a file imports, other than as a type. */
const loadedBy = (code: string) => new Bun.Transpiler({ loader: 'ts' }).scanImports(code);
