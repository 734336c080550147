// `users import` beside a running service, on both databases.

import { beforeAll, describe, expect, test } from 'bun:test';
import { createPublicKey, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { passkeyLogin } from '#support/account.ts';
import { base64url, coseKey, createAuthenticator, flag } from '#support/authenticator.ts';
import { linesIn, operatorOn, startService, temporaryDirectory } from '#support/service.ts';
import { shared } from '#support/shared.ts';

/** An authenticator with a passkey that another service with the same origin registered, and its line members. */
function registeredElsewhere(origin: string) {
  const authenticator = createAuthenticator({ origin, flags: flag.up | flag.uv | flag.be });
  const user_handle = base64url(randomBytes(32));
  authenticator.create({ challenge: base64url('other'), rp: { id: 'localhost' }, user: { id: user_handle } });
  const { id, algorithm, privateKey } = authenticator.credentials[0]!;
  const public_key = base64url(coseKey(algorithm, createPublicKey(privateKey)));
  const passkey = { credential_id: id, public_key, backup_eligible: true, transports: ['internal'] };
  return { authenticator, user_handle, passkey: { ...passkey, name: 'My phone' } };
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
      return operatorOn(service.env).run('users', 'import', file, ...options);
    };
    const organizationsOf = async (token: string) => {
      const { organizations } = await service.api.call('listOrganizations', { accessToken: token });
      const joined = organizations.filter(({ personal }) => !personal);
      return joined.map(({ slug, role }) => `${slug} ${role}`).toSorted();
    };
    /** The accounts whose address contains this. */
    const accounts = (search: string) => operatorOn(service.env).listed('users', 'list', '--search', search);

    beforeAll(async () => {
      for (const slug of ['acme', 'zoo'])
        await operatorOn(service.env).done('organizations', 'create', '--slug', slug, '--name', slug);
    });

    test('imported people sign in by email and with their passkeys, and get no email from the import', async () => {
      const { authenticator, user_handle, passkey } = registeredElsewhere(service.url);
      const ada = {
        ...{ email: 'Ada@example.com', name: 'Ada Lovelace', user_handle },
        organizations: [
          { slug: 'zoo', role: 'member' },
          { slug: 'acme', role: 'owner' },
        ],
        passkeys: [{ ...passkey, rp_id: 'localhost' }],
      };
      const summary = '1 created, 0 completed, 0 unchanged, 0 refused.\n';
      const dry = { code: 0, stdout: `Nothing was changed. It would be: ${summary}` };
      expect(await importing([ada], '--dry-run')).toMatchObject(dry);
      expect(await accounts('ada@')).toEqual([]);
      expect(await importing([ada])).toMatchObject({ code: 0, stdout: summary });
      expect(await (await fetch(`${service.url}/dev/mailbox.json`)).text()).not.toContain('Ada@example.com');

      const { access_token: token } = (await passkeyLogin(service, authenticator)).body;
      const me = await service.ask('GET', '/me', { token });
      expect(me.body).toMatchObject({ email: 'Ada@example.com', name: 'Ada Lovelace' });
      const { access_token } = await service.login('ada@example.com');
      expect(await organizationsOf(access_token)).toEqual(['acme owner', 'zoo member']);
      const { events } = await service.api.call('listEvents', { accessToken: token });
      const byOperator = events.filter(({ detail }) => detail['by'] === 'operator');
      expect(byOperator.map(({ type }) => type).toSorted()).toEqual([
        ...(['account_created', 'membership_changed', 'membership_changed', 'passkey_added'] as const),
      ]);
      await operatorOn(service.env).done('events', 'verify');
    });

    test('a second import adds what is missing and changes nothing that is there', async () => {
      const member = { slug: 'acme', role: 'member' };
      const bob = { email: 'bob@example.com', name: 'Bob', organizations: [member] };
      await importing([bob]);
      const changed = ['add-member', '--slug', 'acme', '--email', 'bob@example.com', '--role', 'admin'];
      await operatorOn(service.env).done('organizations', ...changed);
      expect((await importing([{ ...bob, name: 'Robert' }])).stdout).toBe(
        'line 1 (bob@example.com): the account keeps its name and its role in acme\n' +
          '0 created, 0 completed, 1 unchanged, 0 refused.\n',
      );
      const more = { ...bob, organizations: [member, { slug: 'zoo', role: 'owner' }] };
      expect((await importing([more, { email: 'bea@example.com' }])).stdout).toEndWith(
        '\n1 created, 1 completed, 0 unchanged, 0 refused.\n',
      );
      const { access_token } = await service.login('bob@example.com');
      expect(await organizationsOf(access_token)).toEqual(['acme admin', 'zoo owner']);
      expect(await accounts('bob@')).toMatchObject([{ name: 'Bob' }]);
    });

    test('each refused line is named with its reason, takes no effect, and costs no other line', async () => {
      const email = 'refused@example.com';
      const [mine, other] = [registeredElsewhere(service.url), registeredElsewhere(service.url)];
      const { passkey, user_handle } = mine;
      const cleo = { email: 'cleo@example.com', user_handle, passkeys: [passkey] };
      const many = Array.from({ length: 21 }, () => registeredElsewhere(service.url).passkey);
      const cosePublicKey = 'public_key: must be a COSE key for ES256, EdDSA or RS256';
      const memberOf = (slug: string, role: string) => ({ email, organizations: [{ slug, role }] });
      const passkeys = (...changed: object[]) => changed.map((one) => ({ ...passkey, ...one }));
      const withPasskey = (changed: object) => ({ email, user_handle: 'AAAA', passkeys: passkeys(changed) });
      const refused: [object | string, string][] = [
        ['{"email": ', 'not JSON in UTF-8'],
        ['[1]', 'must be an object'],
        [`{"email": "${email}", "email": "other@example.com"}`, 'email: appears twice'],
        [{ email: 'nobody' }, 'email: must be an email address, like ada@example.com'],
        [{ email, admin: true }, 'has unknown members: admin'],
        [{ email, name: 'x'.repeat(101) }, 'name: must be at most 100 characters'],
        [`{"email": "${email}", "name": "${'x'.repeat(70_000)}"}`, 'has more than 65536 bytes'],
        [memberOf('nowhere', 'member'), 'There is no organization with the slug nowhere.'],
        [memberOf('acme', 'king'), "organizations.0.role: must be one of 'owner', 'admin', 'member'"],
        [{ email, passkeys: [passkey] }, 'user_handle: is required with passkeys'],
        [withPasskey({ rp_id: 'example.org' }), 'passkeys: made for the RP ID example.org'],
        [withPasskey({ credential_id: 'AAAA', public_key: 'AAAA' }), cosePublicKey],
        [withPasskey({ credential_id: 'AAAA', public_key: `${passkey.public_key}AAAA` }), cosePublicKey],
        [{ email, user_handle, passkeys: passkeys({}, {}) }, 'passkeys: must name each passkey once'],
        [{ ...cleo, passkeys: passkeys({ public_key: other.passkey.public_key }) }, 'public_key: differs'],
        [withPasskey({ credential_id: 'A' }), 'passkeys.0.credential_id: must be 1-1023 bytes in base64url'],
        [{ ...cleo, passkeys: [], user_handle: other.user_handle }, 'user_handle: the account exists with'],
        [{ email, user_handle }, 'user_handle: belongs to another account.'],
        [withPasskey({}), 'A passkey is registered for another account.'],
        [{ ...cleo, passkeys: many.slice(0, 20) }, 'An account can have at most 20 passkeys.'],
        [{ ...cleo, passkeys: many }, 'passkeys: must have at most 20 entries'],
      ];
      const lines = [cleo, '', ...refused.map(([line]) => line), { email: 'last@example.com' }];
      const { code, stdout, stderr } = await importing(lines);
      expect(linesIn(stdout)).toEqual([
        ...refused.map(([line, reason], index) =>
          expect.stringContaining(`line ${index + 3}${addressIn(line)}: ${reason}`),
        ),
        `2 created, 0 completed, 0 unchanged, ${refused.length} refused.`,
      ]);
      expect([code, stderr]).toEqual([1, expect.stringContaining(`${refused.length} lines were refused.`)]);
      expect(await accounts('refused@')).toEqual([]);
      await passkeyLogin(service, mine.authenticator);
      await operatorOn(service.env).refused(
        ['users', 'import', directory],
        1,
        `${directory} cannot be read: `,
      );
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
  });
}
