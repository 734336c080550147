// Operator commands against the store of a running service, on both databases.

import { describe, expect, test } from 'bun:test';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { newPasskey } from '#support/account.ts';
import { processDialects } from '#support/long.ts';
import { linesIn, operatorOn, runOperator, startService, temporaryDirectory } from '#support/service.ts';
import { shared } from '#support/shared.ts';

for (const dialect of processDialects) {
  describe(`the operator (${dialect})`, () => {
    const service = shared(() => startService({ dialect }));
    const operator = () => operatorOn(service.env);
    const done = (...args: string[]) => operator().done(...args);
    const ask = (token: string, path = '/me') => service.ask('GET', path, { token });
    const isGood = async (token: string) => (await ask(token)).status === 200;
    const organizations = (command: string, slug: string, ...more: string[]) =>
      done('organizations', command, '--slug', slug, ...more);
    const membership = (email: string, role: string) => ['--email', email, '--role', role];

    test('organizations are created, listed, shown, renamed and deleted, and their members see it at once', async () => {
      expect(await done('organizations', 'list')).toBe('There are no organizations.\n');
      expect(await done('organizations', 'list', '--json')).toBe('');
      const { access_token: token } = await service.login('Ada@example.com');
      await service.login('bob@example.com');
      await organizations('create', 'zoo', '--name', 'Zoo');
      await organizations('create', 'acme', '--name', 'Acme \u202Ecnl');
      await organizations('add-member', 'acme', ...membership('ada@example.com', 'owner'));
      await organizations('add-member', 'acme', ...membership('bob@example.com', 'member'));

      const table = linesIn(await done('organizations', 'list'));
      expect(table.map((line) => line.replace(/\d{4}-\d\d-\d\d \d\d:\d\d {2}org_\S+$/, '…'))).toEqual([
        'SLUG  NAME              MEMBERS  OWNERS  CREATED (UTC)     ID',
        'acme  Acme [U+202E]cnl  2        1       …',
        'zoo   Zoo               0        0       …',
      ]);
      expect(await done('organizations', 'list', '--json')).not.toContain('\u202E');
      // The accounts of other tests have personal ones, too.
      const all = await operator().listed('organizations', 'list', '--all');
      expect(all.filter(({ slug }) => /^(acme|zoo|(ada|bob)-[^-]+)$/.test(slug))).toMatchObject([
        { slug: 'acme', name: 'Acme \u202Ecnl', members: 2, owners: 1, id: expect.stringMatching(/^org_/) },
        { slug: expect.stringMatching(/^ada-/) },
        { slug: expect.stringMatching(/^bob-/) },
        { slug: 'zoo', members: 0, owners: 0 },
      ]);

      expect(await organizations('rename', 'acme', '--name', 'Acme Inc.')).toBe(
        'Renamed the organization acme to Acme Inc..\n',
      );
      const shown = await organizations('show', 'acme');
      expect(shown).toMatch(
        /^Acme Inc\.: organization acme \(org_\S+\), created .* UTC\n\nEMAIL +ROLE +NAME/,
      );
      expect(shown).toMatch(/^Ada@example.com +owner +Ada +\S+ \S+ +usr_\S+$/m);
      expect(JSON.parse(await organizations('show', 'acme', '--json'))).toMatchObject({
        ...{ slug: 'acme', name: 'Acme Inc.', personal: false },
        members: [
          { email: 'Ada@example.com', role: 'owner' },
          { email: 'bob@example.com', role: 'member' },
        ],
      });
      expect(await organizations('show', 'zoo')).toEndWith('\n\nIt has no members.\n');

      await organizations('remove-member', 'acme', '--email', 'BOB@example.com');
      const remove = ['remove-member', '--slug', 'acme', '--email', 'ada@example.com'];
      await operator().refused(['organizations', ...remove], 1, 'The user is the last owner.');
      for (const slug of ['acme', 'zoo']) await organizations('delete', slug);
      expect((await ask(token, '/organizations')).body.organizations).toHaveLength(1);
      await done('events', 'verify');
    });

    test('accounts are found by a part of their address or name, and shown with all that support needs', async () => {
      for (const email of ['Grace@example.net', 'heidi@example.net']) await service.login(email);
      const [heading, ...rows] = linesIn(await done('users', 'list', '--search', 'EXAMPLE.NET'));
      expect(heading).toMatch(/^EMAIL +NAME +STATE +CREATED \(UTC\) +ID$/);
      expect(rows.map((line) => line.split(/ {2,}/).slice(0, 3))).toEqual([
        ['Grace@example.net', 'Grace', 'active'],
        ['heidi@example.net', 'heidi', 'active'],
      ]);
      expect(await done('users', 'list', '--search', 'nobody at all')).toBe('No account matches.\n');
      expect(await operator().listed('users', 'list', '--search', 'nobody at all')).toEqual([]);
      const found = { email: 'Grace@example.net', name: 'Grace', email_verified: true, disabled: false };
      expect(await operator().listed('users', 'list', '--search', 'grace')).toMatchObject([found]);
      await newPasskey(service, await service.login('grace@example.net'));
      const sessions = linesIn(await done('users', 'sessions', 'GRACE@example.net'));
      expect(sessions[0]).toMatch(
        /^ID +NAME +SIGNED IN WITH +IP ADDRESS +STARTED \(UTC\) +LAST USED \(UTC\) +SCOPE$/,
      );
      expect(sessions[1]).toMatch(/^ses_\S+ +browser +email link +/);
      const listed = await operator().listed('users', 'sessions', 'grace@example.net');
      expect(listed).toHaveLength(sessions.length - 1);
      for (const session of listed) {
        expect(session).toMatchObject({ kind: 'browser', scope: '*' });
        expect(session).not.toHaveProperty('current');
      }
      const shown = await done('users', 'show', 'grace@example.net');
      for (const list of ['EMAILS', 'SESSIONS', 'PASSKEYS', 'API KEYS', 'ORGANIZATIONS', 'EVENTS'])
        expect(shown).toContain(`\n${list}\n`);
    });

    test('an address without an account is told from what it was sent, and a link can create the account', async () => {
      await service.ask('POST', '/magic_link', { json: { email: 'eve@example.com' } });
      const closed = operatorOn({ ...service.env, LATCHKEY_SIGNUP: 'closed' });
      expect(await closed.run('users', 'show', 'eve@example.com')).toMatchObject({
        code: 1,
        stdout: expect.stringMatching(
          /^No account .*do not allow an account.*\(LATCHKEY_SIGNUP\)\.\n\nEMAILS\n.*sign in +eve@example\.com/s,
        ),
        stderr: expect.stringContaining('There is no account with this address.'),
      });
      const { stdout } = await closed.run('users', 'show', 'eve@example.com', '--json');
      expect(JSON.parse(stdout)).toMatchObject({
        ...{ user: null, sign_up_allowed: false, emails: [{ kind: 'sign_in' }] },
      });
      expect(await closed.done('users', 'sign-in-link', 'eve@example.com', '--create')).toMatch(
        /^http:\S+\/magic-link#token=lk_ml_\S+\n$/,
      );
    });

    // What else ends is tested in tests/invariants/properties.test.ts, and what an export holds and a deletion leaves in
    // whole-account/personal-data.test.ts.
    test('sign-out, disable, export and delete act at once on the account that is named, and --everybody on all', async () => {
      const [ada, bob] = ['out-ada@example.com', 'out-bob@example.com'] as const;
      const [hers, his] = [await service.login(ada), await service.login(bob)];
      await done('users', 'sign-out', 'OUT-ada@example.com');
      expect([await isGood(hers.access_token), await isGood(his.access_token)]).toEqual([false, true]);
      expect(await done('users', 'sign-out', '--everybody')).toMatch(
        /^Ended all sessions of \d+ accounts\.\n$/,
      );
      expect(await isGood(his.access_token)).toBe(false);
      const { access_token: token } = await service.login(bob);
      expect((await ask(token, '/events')).body.events[1]).toMatchObject({
        ...{ type: 'all_sessions_revoked', session_id: null, detail: { by: 'operator' } },
      });
      await done('users', 'disable', 'Out-Bob@example.com');
      expect(await isGood(token)).toBe(false);
      expect(await done('users', 'sessions', bob)).toBe('The account has no active sessions.\n');
      expect(await done('users', 'list', '--search', bob)).toMatch(/ disabled /);
      await done('users', 'enable', bob);
      const { access_token } = await service.login(bob);
      const exported = await done('users', 'export', 'out-BOB@example.com');
      expect(JSON.parse(exported)).toMatchObject({
        users: [{ email: bob }],
        outbox: expect.arrayContaining([
          expect.objectContaining({ template: 'sign_in', recipient: 'out-bob@example.com' }),
        ]),
      });
      expect(exported).not.toMatch(/\blk_[a-z]{2}_/);
      await done('users', 'delete', 'out-BOB@example.com');
      expect(await isGood(access_token)).toBe(false);
      expect(await operator().listed('users', 'list', '--search', bob)).toEqual([]);
    });

    // What nodes do meanwhile, also with --at-once, is in trust/introspection/signed.test.ts.
    test('a rotated signing key is published before it signs', async () => {
      const rotate = async () =>
        Date.parse(/signs from (\S+)\.$/m.exec(await done('keys', 'rotate-signing'))![1]!);
      expect(await rotate()).toBeLessThanOrEqual(Date.now());
      expect(await rotate()).toBeGreaterThan(Date.now() + 600_000);
      const algorithms = (await operator().listed('keys', 'list')).map(({ algorithm }) => algorithm);
      expect(algorithms.filter((one) => /^[ER]S/.test(one)).toSorted()).toEqual([
        ...['ES256', 'ES256', 'RS256', 'RS256'],
      ]);
    });

    test('what is wrong is said in a sentence, and changes nothing: 2 is wrong usage, 1 a refusal', async () => {
      await service.login('subject@example.com');
      await organizations('create', 'taken', '--name', 'x');
      const member = (slug: string, email: string, role: string) => [
        ...['organizations', 'add-member', '--slug', slug, ...membership(email, role)],
      ];
      const create = (slug: string) => ['organizations', 'create', '--slug', slug, '--name', 'x'];
      for (const [args, status, sentence] of [
        [['frobnicate'], 2, "latchkey-server: Unknown command 'frobnicate'.\n"],
        [['help', 'frobnicate'], 2, "\nlatchkey-server: Unknown command 'frobnicate'.\n"],
        [['serv'], 2, '(Did you mean serve?)\nRun `latchkey-server --help` for usage.\n'],
        [['users', 'explode'], 2, "Unknown command 'explode'"],
        [['serve', '--forever'], 2, "Unknown option '--forever'"],
        [['users', 'disable'], 2, "Missing required argument 'address'.\nRun `latchkey-server users disable"],
        [['organizations', 'create', '--slug', 'acme'], 2, "Required option '--name <name>' not specified"],
        [['organizations', 'show'], 2, "Required option '--slug <slug>' not specified"],
        [['users', 'sign-out'], 2, 'either an address or --everybody'],
        [['users', 'sign-out', 'subject@example.com', '--everybody'], 2, 'either an address or --everybody'],
        [['users'], 2, 'Usage: latchkey-server users'],
        [member('taken', 'subject@example.com', 'king'), 2, '--role'],
        [create('Bad Slug'), 1, 'slug: must be'],
        [create('taken'), 1, 'There already is an organization taken'],
        [['organizations', 'show', '--slug', 'none'], 1, 'There is no organization with the slug none.\n'],
        [member('none', 'subject@example.com', 'member'), 1, 'no organization'],
        [member('taken', 'nobody@example.com', 'member'), 1, 'no account'],
        [['users', 'sign-in-link', 'eve'], 1, 'eve is not an email address'],
        [['users', 'show', 'eve'], 1, 'eve is not an email address'],
        ...['disable', 'sessions', 'export', 'delete'].map(
          (command) => [['users', command, 'nobody@example.com'], 1, 'no account'] as const,
        ),
      ] as const)
        await operator().refused(args, status, sentence);
      expect(JSON.parse(await organizations('show', 'taken', '--json'))).toMatchObject({ members: [] });
      expect(await operator().listed('users', 'sessions', 'subject@example.com')).toHaveLength(1);
      await organizations('delete', 'taken');
    });
  });
}

test('only the user who runs the service can read or write its files', async () => {
  const service = await startService();
  await service.login('private@example.com');
  const files = readdirSync(service.directory).filter((name) => name.startsWith('latchkey'));
  expect(files).toContain('latchkey.db-wal');
  for (const name of files) {
    const mode = statSync(join(service.directory, name)).mode & 0o777;
    expect([name, mode.toString(8)]).toEqual([name, '600']);
  }
});

test('help exits with 0, with and without its name', async () => {
  const env = { DATABASE_URL: `sqlite:${join(temporaryDirectory(), 'latchkey.db')}` };
  const help = await runOperator(env, '--help');
  const usage = expect.stringContaining('Usage: latchkey-server');
  expect(help).toMatchObject({ code: 0, stderr: '', stdout: usage });
  for (const args of [[], ['help']]) expect(await runOperator(env, ...args)).toEqual(help);
  expect((await runOperator(env, 'help', 'users')).stdout).toStartWith('Usage: latchkey-server users');
  expect((await runOperator(env, '--version')).code).toBe(0);
});
