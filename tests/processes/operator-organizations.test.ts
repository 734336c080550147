// The operator's commands for organizations and accounts against the store of a running service, on both databases.

import { describe, expect, test } from 'bun:test';
import { loginByMail, request } from '../support/http.ts';
import { processDialects } from '../support/long.ts';
import { runOperator, startService } from '../support/service.ts';
import { shared } from '../support/shared.ts';

const storeLine = /^Store: \S+\n$/;

for (const dialect of processDialects) {
  describe(`organizations and accounts for the operator (${dialect})`, () => {
    const service = shared(() => startService({ dialect }));
    const operator = (...args: string[]) => runOperator(service.env, ...args);
    /** Standard output of a command that succeeds. */
    const done = async (...args: string[]): Promise<string> => {
      const { code, stdout, stderr } = await operator(...args);
      expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: expect.stringMatching(storeLine) });
      return stdout;
    };
    const refused = async (...args: string[]): Promise<string> => {
      const { code, stdout, stderr } = await operator(...args);
      expect({ args, code, stdout }).toEqual({ args, code: 1, stdout: '' });
      return stderr.replace(/^Store: .*\n/, '');
    };
    const member = (slug: string, email: string, ...more: string[]) => [
      'add-member',
      ...['--slug', slug, '--email', email],
      ...more,
    ];

    test('organizations are created, listed, shown, renamed and deleted, and their members see it at once', async () => {
      expect(await done('organizations', 'list')).toBe('There are no organizations.\n');
      expect(await done('organizations', 'list', '--json')).toBe('');
      const countAll = async () =>
        (await done('organizations', 'list', '--all', '--json')).split('\n').filter(Boolean).length;
      const before = await countAll();
      const { access_token: token } = await loginByMail(service.url, 'Ada@example.com');
      await loginByMail(service.url, 'bob@example.com');
      await done('organizations', 'create', '--slug', 'zoo', '--name', 'Zoo');
      await done('organizations', 'create', '--slug', 'acme', '--name', 'Acme \u202Ecnl');
      await done('organizations', ...member('acme', 'ada@example.com', '--role', 'owner'));
      await done('organizations', ...member('acme', 'bob@example.com', '--role', 'member'));

      const table = await done('organizations', 'list');
      expect(
        table.split('\n').map((line) => line.replace(/\d{4}-\d\d-\d\d \d\d:\d\d {2}org_\S+$/, '…')),
      ).toEqual([
        'SLUG  NAME              MEMBERS  OWNERS  CREATED (UTC)     ID',
        'acme  Acme [U+202E]cnl  2        1       …',
        'zoo   Zoo               0        0       …',
        '',
      ]);
      expect(await countAll()).toBe(before + 4);
      const lines = (await done('organizations', 'list', '--json')).trimEnd().split('\n');
      expect(lines.join()).not.toContain('\u202E');
      expect(lines.map((line) => JSON.parse(line))).toMatchObject([
        { slug: 'acme', name: 'Acme \u202Ecnl', members: 2, owners: 1, id: expect.stringMatching(/^org_/) },
        { slug: 'zoo', members: 0, owners: 0 },
      ]);

      expect(await done('organizations', 'rename', '--slug', 'acme', '--name', 'Acme Inc.')).toBe(
        'Renamed the organization acme to Acme Inc..\n',
      );
      const shown = await done('organizations', 'show', '--slug', 'acme');
      expect(shown).toMatch(
        /^Acme Inc\.: organization acme \(org_\S+\), created .* UTC\n\nEMAIL +ROLE +NAME/,
      );
      expect(shown).toMatch(/^Ada@example.com +owner +Ada +\S+ \S+ +usr_\S+$/m);
      const json = JSON.parse(await done('organizations', 'show', '--slug', 'acme', '--json'));
      expect(json).toMatchObject({ slug: 'acme', name: 'Acme Inc.', personal: false });
      expect(json.members.map(({ email, role }: Record<string, string>) => [email, role])).toEqual([
        ['Ada@example.com', 'owner'],
        ['bob@example.com', 'member'],
      ]);
      expect(await done('organizations', 'show', '--slug', 'zoo')).toEndWith('\n\nIt has no members.\n');

      await done('organizations', 'remove-member', '--slug', 'acme', '--email', 'BOB@example.com');
      await done('organizations', 'delete', '--slug', 'acme');
      const { body } = await request(service.url, 'GET', '/organizations', { token });
      expect(body.organizations).toHaveLength(1);
      const { body: log } = await request(service.url, 'GET', '/events?limit=1', { token });
      expect(log.events[0]).toMatchObject({
        type: 'membership_changed',
        detail: { organization: 'acme', by: 'operator', reason: 'organization_deleted' },
      });
      await done('events', 'verify');
      await done('organizations', 'delete', '--slug', 'zoo');
    });

    test('a refusal says why, and changes nothing', async () => {
      await loginByMail(service.url, 'owner@example.com');
      await done('organizations', 'create', '--slug', 'team', '--name', 'Team');
      await done('organizations', ...member('team', 'owner@example.com', '--role', 'owner'));
      const remove = ['remove-member', '--email', 'owner@example.com', '--slug', 'team'];
      expect(await refused('organizations', ...remove)).toMatch(
        /^latchkey-server: The user is the last owner\./,
      );
      expect(await refused('organizations', 'show', '--slug', 'none')).toBe(
        'latchkey-server: There is no organization with the slug none.\n',
      );
      expect(await refused('organizations', 'create', '--slug', 'team', '--name', 'x')).toContain(
        'There already is an organization team',
      );
      expect((await operator('organizations', 'show')).code).toBe(2);
      await done('organizations', 'delete', '--slug', 'team');
    });

    test('accounts are found by a part of their address or name, and their sessions are listed', async () => {
      for (const email of ['Grace@example.net', 'heidi@example.net']) await loginByMail(service.url, email);
      const table = (await done('users', 'list', '--search', 'EXAMPLE.NET')).trimEnd().split('\n');
      expect(table[0]).toMatch(/^EMAIL +NAME +STATE +CREATED \(UTC\) +ID$/);
      expect(table.slice(1).map((line) => line.split(/ {2,}/).slice(0, 3))).toEqual([
        ['Grace@example.net', 'Grace', 'active'],
        ['heidi@example.net', 'heidi', 'active'],
      ]);
      expect(await done('users', 'list', '--search', 'nobody at all')).toBe('No account matches.\n');
      expect(await done('users', 'list', '--search', 'nobody at all', '--json')).toBe('');
      expect(JSON.parse(await done('users', 'list', '--search', 'grace', '--json'))).toEqual({
        id: expect.stringMatching(/^usr_/),
        email: 'Grace@example.net',
        email_verified: true,
        name: 'Grace',
        avatar_url: null,
        disabled: false,
        created_at: expect.stringMatching(/Z$/),
      });

      await loginByMail(service.url, 'grace@example.net');
      const sessions = (await done('users', 'sessions', 'GRACE@example.net')).trimEnd().split('\n');
      expect(sessions[0]).toMatch(
        /^ID +NAME +SIGNED IN WITH +IP ADDRESS +STARTED \(UTC\) +LAST USED \(UTC\) +SCOPE$/,
      );
      expect(sessions).toHaveLength(3);
      expect(sessions[1]).toMatch(/^ses_\S+ +browser +email link +/);
      const lines = (await done('users', 'sessions', 'grace@example.net', '--json')).trimEnd().split('\n');
      for (const line of lines) {
        expect(JSON.parse(line)).toMatchObject({ kind: 'browser', scope: '*' });
        expect(line).not.toContain('current');
      }
      await done('users', 'disable', 'grace@example.net');
      expect(await done('users', 'sessions', 'grace@example.net')).toBe(
        'The account has no active sessions.\n',
      );
      expect(await done('users', 'list', '--search', 'grace@')).toMatch(/ disabled /);
      expect(await refused('users', 'sessions', 'nobody@example.com')).toContain('no account');
    });
  });
}
