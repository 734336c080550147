// The guides for people who come from another service: their scripts and commands, with databases as those services
// write them.

import { Database } from 'bun:sqlite';
import { beforeEach, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Home } from '#support/cli.ts';
import { allBlocks, openTerminal, readerOf, runWell, type Terminal } from '#support/guides.ts';
import { operatorOn, startService } from '#support/service.ts';
import { shared } from '#support/shared.ts';

const service = shared(() => startService({ env: { LATCHKEY_SIGNUP: 'closed' } }));
let home: Home;
let terminal: Terminal;

beforeEach(() => {
  home = readerOf(service);
  terminal = openTerminal(home, {});
});

const run = (block: string) => runWell(terminal, block);

/** The name and the shared organizations of a person, who signs in by email. */
async function account(email: string) {
  const { access_token: token } = await service.login(email);
  const me = await service.ask('GET', '/me', { token });
  const { body } = await service.ask('GET', '/organizations', { token });
  const shared = body.organizations.filter(({ personal }: { personal: boolean }) => !personal);
  return {
    name: me.body.name,
    organizations: shared.map(({ slug, name, role }: Record<string, string>) => [slug, name, role]).sort(),
  };
}

/** The addresses that contain a text. */
const listed = async (search: string): Promise<string[]> =>
  (await operatorOn(service.env).listed('users', 'list', '--search', search)).map(({ email }) => email);

test('people of Better Auth come along with their organizations, and only those with a confirmed address', async () => {
  using db = new Database(join(home.path, 'better-auth.db'));
  db.run(`
      CREATE TABLE user (id text PRIMARY KEY, name text NOT NULL, email text NOT NULL UNIQUE,
        emailVerified integer NOT NULL, image text, createdAt date NOT NULL, updatedAt date NOT NULL,
        role text, banned integer, banReason text, banExpires date);
      CREATE TABLE organization (id text PRIMARY KEY, name text NOT NULL, slug text NOT NULL UNIQUE, logo text,
        createdAt date NOT NULL, metadata text);
      CREATE TABLE member (id text PRIMARY KEY, organizationId text NOT NULL, userId text NOT NULL,
        role text NOT NULL, createdAt date NOT NULL);
      INSERT INTO organization VALUES ('o1', 'Acme "Inc." $HOME', 'acme', NULL, '2026-01-01', NULL),
        ('o2', 'Bolt', 'bolt', NULL, '2026-01-01', NULL);
      INSERT INTO user (id, name, email, emailVerified, createdAt, updatedAt, banned) VALUES
        ('ada', 'Ada Lovelace', 'ada@better.example', 1, '', '', NULL),
        ('bob', '', 'bob@better.example', 1, '', '', 0),
        ('eve', 'Eve', 'eve@better.example', 0, '', '', NULL),
        ('mallory', 'Mallory', 'mallory@better.example', 1, '', '', 1);
      INSERT INTO member VALUES ('1', 'o1', 'ada', 'admin,owner', ''), ('2', 'o2', 'ada', 'billing', ''),
        ('3', 'o1', 'bob', 'admin', ''), ('4', 'o1', 'eve', 'owner', '');
    `);

  const [organizations, people] = await allBlocks('docs/coming-from-better-auth.md', 'sh', 2);
  await run(organizations);
  const output = await run(people);
  expect(output).toContain('2 left out: banned, or with an address that was never confirmed');
  expect(output).toContain('It would be: 2 created, 0 completed, 0 unchanged, 0 refused.');
  expect(output).toContain('\n2 created, 0 completed, 0 unchanged, 0 refused.');

  expect(await account('ada@better.example')).toEqual({
    name: 'Ada Lovelace',
    organizations: [
      ['acme', 'Acme "Inc." $HOME', 'owner'],
      ['bolt', 'Bolt', 'member'],
    ],
  });
  expect((await account('bob@better.example')).organizations).toEqual([
    ['acme', 'Acme "Inc." $HOME', 'admin'],
  ]);
  expect(await listed('@better')).toEqual(['ada@better.example', 'bob@better.example']);
  expect(await run(people)).toContain('\n0 created, 0 completed, 2 unchanged, 0 refused.');
});

test('people of Auth0 come along once each, and only those with a confirmed address', async () => {
  const users = [
    { email: 'ada@auth0.example', email_verified: true, name: 'Ada Lovelace', blocked: false },
    { email: 'ADA@auth0.example', email_verified: true, name: 'ada' },
    { email: 'bob@auth0.example', email_verified: true, name: 'bob@auth0.example' },
    { email: 'eve@auth0.example', email_verified: false, name: 'Eve' },
    { email: 'mallory@auth0.example', email_verified: true, name: 'Mallory', blocked: true },
    { name: '+1 555 0100' },
  ];
  writeFileSync(join(home.path, 'auth0.ndjson'), users.map((user) => `${JSON.stringify(user)}\n`).join(''));

  const [people] = await allBlocks('docs/coming-from-auth0.md', 'sh', 1);
  const output = await run(people);
  expect(output).toContain('3 left out: blocked, without an address, or with one that was never confirmed');
  expect(output).toContain('\n2 created, 0 completed, 1 unchanged, 0 refused.');
  expect((await account('ada@auth0.example')).name).toBe('Ada Lovelace');
  expect((await account('bob@auth0.example')).name).not.toContain('@');
  expect(await listed('@auth0')).toEqual(['ada@auth0.example', 'bob@auth0.example']);
});
