// `latchkey-server services` against the database of a running service, on both databases. What may be registered is in
// services/registration.test.ts, and what each change does in services/service-keys.test.ts and services/declarations.test.ts.

import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { request } from '#support/http.ts';
import { processDialects } from '#support/long.ts';
import { linesIn, operatorOn, runOperatorInto, startService, temporaryDirectory } from '#support/service.ts';
import { basic } from '#support/services.ts';
import { shared } from '#support/shared.ts';

for (const dialect of processDialects) {
  describe(`latchkey-server services (${dialect})`, () => {
    const service = shared(() => startService({ dialect }));
    const services = (...args: string[]) => operatorOn(service.env).done('services', ...args);
    const listed = () => operatorOn(service.env).listed('services', 'list');
    const entryOf = async (id: string) => (await listed()).find((entry) => entry.id === id);
    const refused = (args: readonly string[], status: 1 | 2, sentence: string) =>
      operatorOn(service.env).refused(['services', ...args], status, sentence);

    /** The key on the last line of a command that succeeds, and the id in it. */
    const keyFrom = (stdout: string) => {
      const key = linesIn(stdout).at(-1)!;
      expect(key).toMatch(/^svc_[\w-]{22}:lk_sk_[\w-]{43}$/);
      return { key, id: key.split(':')[0]! };
    };

    test('create prints the key on its last line, and the list shows what was declared, without secrets', async () => {
      const { key, id } = keyFrom(
        await services(
          ...['create', 'Projects service', '--resource', 'https://projects.example'],
          ...['--scope', 'projects:read=See your projects', '--scope', 'projects:write=Change them, a = b'],
          ...['--may', 'users', '--may', 'feed'],
          ...['--reach', 'https://a.example', 'https://b.example', '--reach', 'https://c.example'],
        ),
      );
      expect(await entryOf(id)).toEqual({
        id,
        name: 'Projects service',
        resource: 'https://projects.example',
        scopes: [
          { name: 'projects:read', description: 'See your projects' },
          { name: 'projects:write', description: 'Change them, a = b' },
        ],
        rights: ['users', 'feed'],
        reach: ['https://a.example', 'https://b.example', 'https://c.example'],
        ...{ redirect_uris: [], sign_out_redirect_uris: [], public: false, trusted: false, secrets: 1 },
        ...{ created_at: expect.stringMatching(/^\d{4}-.*Z$/), last_used_at: null, revoked_at: null },
      });
      const [heading, ...rows] = linesIn(await services('list'));
      expect(heading).toMatch(
        /^ID +NAME +STATE +RESOURCE +SCOPES +RIGHTS +REACHES +SIGN-IN +LAST USED \(UTC\)$/,
      );
      expect(rows.find((line) => line.startsWith(id))).toMatch(
        /^svc_\S+ +Projects service +active +https:\/\/projects\.example +projects:read projects:write +users feed +https\S+ https\S+ https\S+ +- +never$/,
      );
      const secret = key.split(':')[1]!;
      expect(rows.join() + JSON.stringify(await listed())).not.toContain(secret);
    });

    test('set replaces what its options name and can clear each of them', async () => {
      const { id } = keyFrom(await services('create', 'Changing', '--reach', 'https://a.example'));
      const app = 'https://app.example';
      const steps: readonly (readonly [string, object])[] = [
        ['--may delegate --scope changing:write=Write', { rights: ['delegate'] }],
        ['--scope changing:w=W', { scopes: [{ name: 'changing:w', description: 'W' }] }],
        [`--reach ${app}/r --resource ${app}/other`, { reach: [`${app}/r`], resource: `${app}/other` }],
        ['--no-resource --no-scope', { resource: null, scopes: [] }],
        ['--no-may --no-reach', { rights: [], reach: [] }],
        [`--redirect ${app}/a --trusted`, { redirect_uris: [`${app}/a`], trusted: true }],
        [`--sign-out-redirect ${app}/b`, { sign_out_redirect_uris: [`${app}/b`] }],
        [
          '--redirect http://127.0.0.1/a --no-trusted',
          { redirect_uris: ['http://127.0.0.1/a'], trusted: false },
        ],
        ['--no-sign-out-redirect --no-redirect', { sign_out_redirect_uris: [], redirect_uris: [] }],
      ];
      let expected = await entryOf(id);
      for (const [options, change] of steps) {
        expect(await services('set', id, ...options.split(' '))).toBe(`Changed ${id}.\n`);
        const scopes = (await entryOf(id)).scopes;
        expected = { ...expected, ...(options.includes('--scope') ? { scopes } : {}), ...change };
        expect(await entryOf(id)).toEqual(expected);
      }
    });

    test('an application is a client with a key, a trusted or a public one, whose id is printed alone', async () => {
      const redirect = ['--redirect', 'https://app.example/callback'];
      const { id } = keyFrom(await services('create', 'App', ...redirect, '--trusted'));
      const bare = linesIn(await services('create', 'Bare', ...redirect, '--public')).at(-1)!;
      expect(bare).toMatch(/^svc_[\w-]{22}$/);
      const signIn = async (name: string) =>
        new RegExp(` ${name} .* (\\S+) +never\n`).exec(await services('list'))?.[1];
      expect([await signIn('App'), await signIn('Bare')]).toEqual(['trusted', 'public']);
      await refused(['set', id, '--public'], 1, 'trusted');
      await refused(['set', bare, '--no-public'], 1, 'key');
      await services('set', id, '--no-trusted');
      expect(await signIn('App')).toBe('yes');
    });

    test('rotate prints a second key of the service, retire ends the older one, revoke both, and the list says so', async () => {
      const first = keyFrom(await services('create', 'Rotating'));
      const namesake = await services('create', 'Rotating');
      expect(namesake).toContain(`Created the service Rotating. ${first.id} has the same name.`);
      await services('revoke', keyFrom(namesake).id);
      const second = keyFrom(await services('rotate', first.id));
      expect(second.id).toBe(first.id);
      expect(await services('list')).toMatch(/Rotating +two secrets /);
      const statuses = async () => {
        const asked = [first, second].map(({ key }) => {
          const headers = { Authorization: basic(key) };
          return request(service.url, 'POST', '/introspect', { json: { token: 'x' }, headers });
        });
        return (await Promise.all(asked)).map(({ status }) => status);
      };
      await services('retire', first.id);
      expect(await statuses()).toEqual([401, 200]);
      await services('revoke', first.id);
      expect(await statuses()).toEqual([401, 401]);
      expect(await services('list')).toMatch(/Rotating +revoked /);
    });

    test('a wrong option or value names itself and changes nothing', async () => {
      const offered = ['--resource', 'https://wiki.example', '--scope', 'wiki:read=Read the wiki'];
      const { id } = keyFrom(await services('create', 'Wiki', ...offered));
      const before = await listed();
      for (const [args, status, sentence] of [
        [['create'], 2, "Missing required argument 'name'"],
        [['create', ' '], 1, 'The name must be'],
        [['create', 'x', '--scope', 'read'], 2, 'NAME=SENTENCE'],
        [['create', 'x', '--may', 'everything'], 2, 'delegate, feed, operate, organizations, users'],
        [['create', 'x', '--resource', 'projects'], 1, 'resource: must be an absolute URI'],
        [['create', 'x', '--public'], 1, 'redirect'],
        [['create', 'x', ...offered], 1, `The resource https://wiki.example belongs to Wiki (${id}).`],
        [['set', id], 2, 'Name what to replace'],
        [['set', id, '--resource', ''], 2, 'It must be a URI'],
        [['set', id, '--resource', 'https://a.example', '--resource', 'https://b.example'], 2, 'at most one'],
        [['set', id, '--scope', 'Read=x'], 1, 'scope: a name is'],
        [['set', 'svc_unknown', '--may', 'feed'], 1, 'no active service svc_unknown'],
        ...['rotate', 'retire', 'revoke'].map(
          (command) => [[command, 'svc_unknown'], 1, 'no active service'] as const,
        ),
      ] as const)
        await refused(args, status, sentence);
      expect(await listed()).toEqual(before);
    });
  });
}

test('a list without services is a sentence for people and nothing for programs; a key that cannot be printed is not made', async () => {
  const env = { DATABASE_URL: `sqlite:${join(temporaryDirectory(), 'latchkey.db')}` };
  const { run, done, listed } = operatorOn(env);
  await run('migrate');
  expect(await done('services', 'list')).toBe('There are no services.\n');
  expect(await done('services', 'list', '--json')).toBe('');

  const refused = {
    code: 1,
    stderr: expect.stringMatching(/^latchkey-server: Standard output .* Nothing was changed\.$/m),
  };
  for (const lost of ['>&-', '>/dev/null', '>/dev/full'])
    expect(await runOperatorInto(lost, env, 'services', 'create', 'tickets')).toEqual(refused);
  expect(await listed('services', 'list')).toEqual([]);
  const [id = ''] = linesIn(await done('services', 'create', 'billing'))
    .at(-1)!
    .split(':');
  expect(await runOperatorInto('>&-', env, 'services', 'rotate', id)).toEqual(refused);
  expect(await listed('services', 'list')).toMatchObject([{ id, secrets: 1 }]);
  // The id of a public service is no secret.
  const page = ['services', 'create', 'page', '--public', '--redirect', 'http://localhost:3000/back'];
  expect((await runOperatorInto('>/dev/null', env, ...page)).code).toBe(0);
  expect(await runOperatorInto('>&-', env, ...page)).toEqual(refused);
  expect(await listed('services', 'list')).toHaveLength(2);
});
