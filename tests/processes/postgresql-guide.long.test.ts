// The guide to PostgreSQL, word for word: an empty database with two nodes, and the move from SQLite.

import { expect, test } from 'bun:test';
import postgres from 'postgres';
import {
  allBlocks,
  checkoutHome,
  openTerminal,
  replaced,
  runSigningIn,
  runWell,
  startBlock,
} from '#support/guides.ts';
import { startPostgres } from '#support/postgres.ts';
import { reservePort } from '#support/reserved-port.ts';
import { fresh } from '#support/shared.ts';

const document = 'docs/postgresql.md';
const [settings, first, second, use, afterwards, check, move, look] = await allBlocks(document, 'sh', 8);
const [create] = await allBlocks(document, 'sql', 1);

let created = 0;

/** A reader with the database of the guide, under a name that no other test has. */
const reader = fresh(async () => {
  const server = new URL((await startPostgres()).url('postgres'));
  const admin = postgres(server.href, { max: 1, onnotice: () => {} });
  const name = `latchkey_test_${process.pid}_guide_${created++}`;
  for (const statement of create.trim().split('\n'))
    await admin.unsafe(statement.replaceAll(/\blatchkey\b/g, name));
  const [one, two] = [reservePort(), reservePort()];
  const replacements = {
    'postgres://latchkey:choose-one@db.example.com/latchkey': `postgres://${name}:choose-one@${server.host}/${name}`,
    'localhost:8787': `localhost:${one}`,
    'localhost:8788': `localhost:${two}`,
    'PORT=8787': `PORT=${one}`,
    'PORT=8788': `PORT=${two}`,
  };
  const home = checkoutHome();
  const terminal = openTerminal(home, replacements);
  const close = async () => {
    await admin.unsafe(`DROP DATABASE ${name} WITH (FORCE)`);
    await admin.unsafe(`DROP ROLE ${name}`);
    await admin.end();
  };
  return { home, terminal, replacements, close };
});

/** Starts a node with the block of the guide. */
async function startNode(block: string) {
  const text = replaced(block, reader.replacements);
  const url = `http://localhost:${/PORT=(\d+)/.exec(text)?.[1]}`;
  const stop = await startBlock(reader.home, text, {}, async () => (await fetch(`${url}/readyz`)).ok);
  return { url, stop };
}

const run = (block: string) => runWell(reader.terminal, block);

const signIn = async (url: string, block: string): Promise<string> =>
  (await runSigningIn(reader.terminal, block, url, 'ada@example.com')).output;

test('two nodes share a database: a token of one works at the other, and is refused there once revoked', async () => {
  await run(settings);
  const [{ url }] = await Promise.all([startNode(first), startNode(second)]);
  expect(await signIn(url, use)).toMatch(/^HTTP\/1\.1 200 /m);
  expect(await run(afterwards)).toMatch(/^HTTP\/1\.1 401 /m);
  expect(await run(check)).toContain('2 processes may open');
});

test('a service on SQLite moves to PostgreSQL without ending a session', async () => {
  const onSqlite = first.replace(' --env-file latchkey.env', '');
  expect(onSqlite).not.toBe(first);
  const { url, stop } = await startNode(onSqlite);
  await signIn(url, `npx latchkey login --server ${url}`);
  await stop();
  expect(await run(move)).toContain('Copied 1 account and everything else to postgres:');
  await startNode(first);
  expect(await run(look)).toContain('<ada@example.com>');
});
