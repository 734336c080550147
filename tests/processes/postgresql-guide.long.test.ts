// The guide to PostgreSQL, word for word: an empty database with two nodes, and the move from SQLite.

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test';
import postgres from 'postgres';
import type { Home } from '#support/cli.ts';
import {
  checkoutHome,
  codeBlocks,
  openTerminal,
  type Replacements,
  replaced,
  runSigningIn,
  runWell,
  startBlock,
  type Terminal,
} from '#support/guides.ts';
import { startPostgres } from '#support/postgres.ts';
import { reservePort } from '#support/reserved-port.ts';

const document = 'docs/postgresql.md';
const [
  settings = '',
  first = '',
  second = '',
  use = '',
  afterwards = '',
  check = '',
  move = '',
  look = '',
  ...more
] = await codeBlocks(document, 'sh');
const [create = '', ...moreSql] = await codeBlocks(document, 'sql');

let admin: postgres.Sql;
let server: URL;
let created = 0;
let home: Home;
let terminal: Terminal;
let replacements: Replacements;
let stops: (() => Promise<void>)[];

beforeAll(async () => {
  server = new URL((await startPostgres()).url('postgres'));
  admin = postgres(server.href, { max: 1, onnotice: () => {} });
});

afterAll(() => admin.end());

/** The database of the guide, under a name that no other test has. */
beforeEach(async () => {
  const name = `latchkey_test_${process.pid}_guide_${created++}`;
  for (const statement of create.trim().split('\n'))
    await admin.unsafe(statement.replaceAll(/\blatchkey\b/g, name));
  const [one, two] = [reservePort(), reservePort()];
  replacements = {
    'postgres://latchkey:choose-one@db.example.com/latchkey': `postgres://${name}:choose-one@${server.host}/${name}`,
    'localhost:8787': `localhost:${one}`,
    'localhost:8788': `localhost:${two}`,
    'PORT=8787': `PORT=${one}`,
    'PORT=8788': `PORT=${two}`,
  };
  home = checkoutHome();
  terminal = openTerminal(home, replacements);
  stops = [];
});

afterEach(async () => {
  await Promise.all([...stops.map((stop) => stop()), terminal.close()]);
  const name = `latchkey_test_${process.pid}_guide_${created - 1}`;
  await admin.unsafe(`DROP DATABASE ${name} WITH (FORCE)`);
  await admin.unsafe(`DROP ROLE ${name}`);
});

/** Starts a node with the block of the guide, and resolves with its address. */
async function startNode(block: string): Promise<string> {
  const text = replaced(block, replacements);
  const url = `http://localhost:${/PORT=(\d+)/.exec(text)?.[1]}`;
  const stop = await startBlock(home, text, {}, async () => (await fetch(`${url}/readyz`)).ok);
  stops.push(stop);
  return url;
}

const run = (block: string) => runWell(terminal, block);

const signIn = async (url: string, block: string): Promise<string> =>
  (await runSigningIn(terminal, block, url, 'ada@example.com')).output;

test('two nodes share a database: a token of one works at the other, and is refused there once revoked', async () => {
  expect([more, moreSql]).toEqual([[], []]);
  await run(settings);
  const [url = ''] = await Promise.all([startNode(first), startNode(second)]);
  expect(await signIn(url, use)).toMatch(/^HTTP\/1\.1 200 /m);
  expect(await run(afterwards)).toMatch(/^HTTP\/1\.1 401 /m);
  expect(await run(check)).toContain('2 processes may open');
});

test('a service on SQLite moves to PostgreSQL without ending a session', async () => {
  const onSqlite = first.replace(' --env-file latchkey.env', '');
  expect(onSqlite).not.toBe(first);
  const url = await startNode(onSqlite);
  await signIn(url, `npx latchkey login --server ${url}`);
  await stops.pop()?.();
  expect(await run(move)).toContain('Copied 1 account and everything else to postgres:');
  await startNode(first);
  expect(await run(look)).toContain('<ada@example.com>');
});
