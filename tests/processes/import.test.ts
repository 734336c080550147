// `users import` beside a running service, on both databases.

import { Database } from 'bun:sqlite';
import { beforeAll, describe, expect, test } from 'bun:test';
import { createPublicKey, randomBytes } from 'node:crypto';
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { tokenSet } from '@latchkey/contract/tokens';
import { spawnSync } from 'bun';
import postgres from 'postgres';
import {
  type Authenticator,
  base64url,
  coseKey,
  createAuthenticator,
  flag,
} from '../support/authenticator.ts';
import { spawn } from '../support/cleanup.ts';
import { apiAt, loginByMail, request } from '../support/http.ts';
import { serverProgram } from '../support/server-program.ts';
import { runOperator, startService, temporaryDirectory } from '../support/service.ts';
import { shared } from '../support/shared.ts';
import { until } from '../support/until.ts';

/** An authenticator with a passkey that another service with the same origin registered, and its line members. */
function registeredElsewhere(origin: string) {
  const authenticator = createAuthenticator({ origin, flags: flag.up | flag.uv | flag.be });
  const handle = base64url(randomBytes(32));
  authenticator.create({ challenge: base64url('other'), rp: { id: 'localhost' }, user: { id: handle } });
  const [credential] = authenticator.credentials;
  const { id, algorithm, privateKey } = credential!;
  return {
    authenticator,
    user_handle: handle,
    passkey: {
      credential_id: id,
      public_key: base64url(coseKey(algorithm, createPublicKey(privateKey))),
      backup_eligible: true,
      transports: ['internal'],
      name: 'My phone',
    },
  };
}

/** The address of a line, as it is printed. */
const addressIn = (line: object | string): string =>
  typeof line === 'object' && 'email' in line && String(line.email).includes('@') ? ` (${line.email})` : '';

for (const dialect of ['sqlite', 'postgres'] as const) {
  describe(`users import (${dialect})`, () => {
    const directory = temporaryDirectory();
    const file = join(directory, 'users.jsonl');
    const service = shared(() => startService({ dialect, env: { LATCHKEY_SIGNUP: 'closed' } }));

    const importing = (lines: readonly (object | string)[], ...options: string[]) => {
      const text = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)));
      writeFileSync(file, text.join('\n'));
      return runOperator(service.env, 'users', 'import', file, ...options);
    };
    const organizationsOf = async (email: string) => {
      const { access_token: token } = await loginByMail(service.url, email);
      const { body } = await request(service.url, 'GET', '/organizations', { token });
      return body.organizations
        .filter(({ personal }: { personal: boolean }) => !personal)
        .map(({ slug, role }: { slug: string; role: string }) => `${slug} ${role}`)
        .sort();
    };
    const passkeyLogin = async (authenticator: Authenticator) => {
      const api = apiAt(service.url);
      const body = authenticator.get(await api.call('startPasskeyLogin'));
      return tokenSet.parse(await api.call('loginWithPasskey', { body })).access_token;
    };
    const countUsers = async (): Promise<number> => {
      const query = 'SELECT count(*) AS users FROM users';
      if (dialect === 'sqlite') {
        using db = new Database(join(service.directory, 'latchkey.db'), { readonly: true });
        return db.query<{ users: number }, []>(query).get()?.users ?? 0;
      }
      const sql = postgres(service.env['DATABASE_URL'] ?? '', { max: 1 });
      const [row] = await sql.unsafe(query);
      await sql.end();
      return Number(row?.['users']);
    };

    beforeAll(async () => {
      for (const slug of ['acme', 'zoo']) {
        await runOperator(service.env, 'organizations', 'create', '--slug', slug, '--name', slug);
      }
    });

    test('imported people sign in by email and with their passkeys, and get no email from the import', async () => {
      const { authenticator, user_handle, passkey } = registeredElsewhere(service.url);
      const ada = {
        email: 'Ada@example.com',
        name: 'Ada Lovelace',
        user_handle,
        organizations: [
          { slug: 'zoo', role: 'member' },
          { slug: 'acme', role: 'owner' },
        ],
        passkeys: [{ ...passkey, rp_id: 'localhost' }],
      };
      const before = await countUsers();
      const dry = await importing([ada], '--dry-run');
      expect([dry.code, dry.stdout]).toEqual([
        0,
        'Nothing was changed. It would be: 1 created, 0 completed, 0 unchanged, 0 refused.\n',
      ]);
      expect(await countUsers()).toBe(before);
      expect(await importing([ada])).toMatchObject({
        code: 0,
        stdout: '1 created, 0 completed, 0 unchanged, 0 refused.\n',
      });
      const mailbox = await (await fetch(`${service.url}/dev/mailbox.json`)).json();
      expect(JSON.stringify(mailbox)).not.toContain('Ada@example.com');

      const token = await passkeyLogin(authenticator);
      const me = await request(service.url, 'GET', '/me', { token });
      expect(me.body).toMatchObject({ email: 'Ada@example.com', name: 'Ada Lovelace' });
      expect(await organizationsOf('ada@example.com')).toEqual(['acme owner', 'zoo member']);
      const { body } = await request(service.url, 'GET', '/events', { token });
      const byOperator = body.events.filter(({ detail }: { detail: { by?: string } }) => detail.by);
      expect(byOperator.map(({ type }: { type: string }) => type).sort()).toEqual([
        ...['account_created', 'membership_changed', 'membership_changed', 'passkey_added'],
      ]);
      expect(await runOperator(service.env, 'events', 'verify')).toMatchObject({ code: 0 });
    });

    test('a second import adds what is missing and changes nothing that is there', async () => {
      const member = { slug: 'acme', role: 'member' };
      const bob = { email: 'bob@example.com', name: 'Bob', organizations: [member] };
      await importing([bob]);
      const changed = ['add-member', '--slug', 'acme', '--email', 'bob@example.com', '--role', 'admin'];
      await runOperator(service.env, 'organizations', ...changed);
      expect((await importing([{ ...bob, name: 'Robert' }])).stdout).toBe(
        'line 1 (bob@example.com): the account keeps its name and its role in acme\n' +
          '0 created, 0 completed, 1 unchanged, 0 refused.\n',
      );
      const more = { ...bob, organizations: [member, { slug: 'zoo', role: 'owner' }] };
      expect((await importing([more])).stdout).toEndWith(
        '\n0 created, 1 completed, 0 unchanged, 0 refused.\n',
      );
      expect(await organizationsOf('bob@example.com')).toEqual(['acme admin', 'zoo owner']);
      const list = await runOperator(service.env, 'users', 'list', '--search', 'bob@', '--json');
      expect(JSON.parse(list.stdout).name).toBe('Bob');
    });

    test('each refused line is named with its reason, takes no effect, and costs no other line', async () => {
      const email = 'refused@example.com';
      const mine = registeredElsewhere(service.url);
      const { passkey, user_handle } = mine;
      const refused: [object | string, string][] = [
        ['{"email": ', 'not JSON in UTF-8'],
        ['[1]', 'must be an object'],
        [`{"email": "${email}", "email": "other@example.com"}`, 'email: appears twice'],
        [{ email: 'nobody' }, 'email: must be an email address, like ada@example.com'],
        [{ email, admin: true }, 'has unknown members: admin'],
        [{ email, name: 'x'.repeat(101) }, 'name: must be at most 100 characters'],
        [`{"email": "${email}", "name": "${'x'.repeat(70_000)}"}`, 'has more than 65536 bytes'],
        [
          { email, organizations: [{ slug: 'nowhere', role: 'member' }] },
          'There is no organization with the slug nowhere.',
        ],
        [
          { email, organizations: [{ slug: 'acme', role: 'king' }] },
          "organizations.0.role: must be one of 'owner', 'admin', 'member'",
        ],
        [
          { email, passkeys: [passkey] },
          'user_handle: is required with passkeys: they sign in only to the user they were made for',
        ],
        [
          { email, user_handle, passkeys: [{ ...passkey, rp_id: 'example.org' }] },
          'passkeys: made for the RP ID example.org, but this is localhost.',
        ],
        [
          {
            email,
            user_handle: 'AAAA',
            passkeys: [{ ...passkey, credential_id: 'AAAA', public_key: 'AAAA' }],
          },
          'public_key: must be a COSE key for ES256, EdDSA or RS256',
        ],
        [
          {
            email,
            user_handle: 'AAAA',
            passkeys: [{ ...passkey, credential_id: 'AAAA', public_key: `${passkey.public_key}AAAA` }],
          },
          'public_key: must be a COSE key for ES256, EdDSA or RS256',
        ],
        [{ email, user_handle, passkeys: [passkey, passkey] }, 'passkeys: must name each passkey once'],
        [
          {
            email: 'cleo@example.com',
            user_handle,
            passkeys: [{ ...passkey, public_key: registeredElsewhere(service.url).passkey.public_key }],
          },
          'public_key: differs from the registered one.',
        ],
        [
          { email, user_handle, passkeys: [{ ...passkey, credential_id: 'A' }] },
          'passkeys.0.credential_id: must be 1-1023 bytes in base64url without padding',
        ],
        [
          { email: 'cleo@example.com', user_handle: base64url(randomBytes(8)) },
          'user_handle: the account exists with another one, so passkeys for this one cannot sign in to it.',
        ],
        [{ email, user_handle }, 'user_handle: belongs to another account.'],
        [{ email, user_handle: 'AAAA', passkeys: [passkey] }, 'A passkey is registered for another account.'],
      ];
      const cleo = { email: 'cleo@example.com', user_handle, passkeys: [passkey] };
      const lines = [cleo, '', ...refused.map(([line]) => line), { email: 'last@example.com' }];
      const { code, stdout, stderr } = await importing(lines);
      expect(stdout.trimEnd().split('\n')).toEqual([
        ...refused.map(([line, reason], index) => `line ${index + 3}${addressIn(line)}: ${reason}`),
        `2 created, 0 completed, 0 unchanged, ${refused.length} refused.`,
      ]);
      expect([code, stderr]).toEqual([1, expect.stringContaining(`${refused.length} lines were refused.`)]);
      const list = await runOperator(service.env, 'users', 'list', '--search', 'refused@');
      expect(list.stdout).toBe('No account matches.\n');
      const many = Array.from({ length: 21 }, () => registeredElsewhere(service.url).passkey);
      const over = await importing([
        { ...cleo, passkeys: many.slice(0, 20) },
        { ...cleo, passkeys: many },
      ]);
      expect(over.stdout).toContain('line 1 (cleo@example.com): An account can have at most 20 passkeys.');
      expect(over.stdout).toContain('line 2 (cleo@example.com): passkeys: must have at most 20 entries');
      await passkeyLogin(mine.authenticator);
    });

    test('a dry run finds what the lines of a file have in common, as the import does', async () => {
      const { user_handle, passkey } = registeredElsewhere(service.url);
      const member = (slug: string) => [{ slug, role: 'member' }];
      const dan = { email: 'dan@example.com', user_handle };
      const lines = [
        { ...dan, organizations: member('acme') },
        { ...dan, email: 'Dan@example.com', organizations: member('acme') },
        { ...dan, organizations: member('zoo'), passkeys: [passkey] },
        { email: 'eve@example.com', user_handle: 'AQID', passkeys: [passkey] },
        { email: 'fay@example.com', user_handle },
      ];
      const summary = '1 created, 1 completed, 1 unchanged, 2 refused.';
      const refusals =
        'line 4 (eve@example.com): A passkey is registered for another account.\n' +
        'line 5 (fay@example.com): user_handle: belongs to another account.\n';
      const dry = await importing(lines, '--dry-run');
      expect(dry.stdout).toBe(`${refusals}Nothing was changed. It would be: ${summary}\n`);
      expect((await importing(lines)).stdout).toBe(`${refusals}${summary}\n`);
    });

    test('a file that cannot be read is named', async () => {
      const { code, stderr } = await runOperator(service.env, 'users', 'import', directory);
      expect(code).toBe(1);
      expect(stderr).toContain(`latchkey-server: ${directory} cannot be read: `);
    });

    test('an import that is killed leaves only whole accounts, and running it again adds the rest', async () => {
      const before = await countUsers();
      const people = Array.from({ length: 60 }, (_, n) => ({
        email: `crowd-${n}@example.com`,
        organizations: [{ slug: 'acme', role: 'member' }],
      }));
      const crowd = join(directory, 'crowd.jsonl');
      const lines = people.map((line) => `${JSON.stringify(line)}\n`);
      writeFileSync(crowd, lines.join(''));
      // It waits for the rest of the lines, so that it is killed in the middle.
      const pipe = join(directory, 'crowd');
      expect(spawnSync(['mkfifo', pipe]).exitCode).toBe(0);
      const writer = openSync(pipe, 'r+');
      writeSync(writer, lines.slice(0, 30).join(''));
      const child = spawn([...serverProgram, 'users', 'import', pipe], {
        cwd: directory,
        env: { PATH: process.env['PATH'] ?? '', ...service.env },
        stdout: 'ignore',
        stderr: 'ignore',
      });
      await until(async () => (await countUsers()) >= before + 20, 'the first accounts');
      child.kill('SIGKILL');
      await child.exited;
      closeSync(writer);
      const done = (await countUsers()) - before;
      expect(done).toBeGreaterThanOrEqual(20);
      expect(done).toBeLessThan(people.length);

      const { stdout } = await runOperator(service.env, 'users', 'import', crowd);
      expect(stdout).toBe(`${people.length - done} created, 0 completed, ${done} unchanged, 0 refused.\n`);
      const show = await runOperator(service.env, ...['organizations', 'show', '--slug', 'acme', '--json']);
      const crowdMembers = JSON.parse(show.stdout).members.filter(({ email }: { email: string }) =>
        email.startsWith('crowd-'),
      );
      expect(crowdMembers).toHaveLength(people.length);
      expect(await runOperator(service.env, 'events', 'verify')).toMatchObject({ code: 0 });
    });
  });
}
