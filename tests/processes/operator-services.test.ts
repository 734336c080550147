// `latchkey-server services` against the database of a running service, on both databases.

import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { request } from '../support/http.ts';
import { processDialects } from '../support/long.ts';
import { runOperator, startService, temporaryDirectory } from '../support/service.ts';
import { basic } from '../support/services.ts';
import { shared } from '../support/shared.ts';

for (const dialect of processDialects) {
  describe(`latchkey-server services (${dialect})`, () => {
    const service = shared(() => startService({ dialect }));
    const services = (...args: string[]) => runOperator(service.env, 'services', ...args);
    const listed = async () =>
      (await services('list', '--json')).stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));

    const entryOf = async (id: string) => (await listed()).find((entry) => entry.id === id);

    /** The key on the last line of a command that succeeds, and the id in it. */
    const keyFrom = ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => {
      expect([code, stderr]).toEqual([0, expect.stringMatching(/^Store: \S+\n$/)]);
      const key = stdout.trimEnd().split('\n').at(-1)!;
      expect(key).toMatch(/^svc_[\w-]{22}:lk_sk_[\w-]{43}$/);
      return { key, id: key.split(':')[0]! };
    };

    const introspect = async (key: string, token = 'x') => {
      const headers = { Authorization: basic(key) };
      return request(service.url, 'POST', '/introspect', { json: { token }, headers });
    };

    test('create prints the key on its last line, and the list shows what was declared, without secrets', async () => {
      const { key, id } = keyFrom(
        await services(
          'create',
          'Projects service',
          ...['--resource', 'https://projects.example', '--scope', 'projects:read=See your projects'],
          ...['--scope', 'projects:write=Change them, a = b', '--may', 'users', '--may', 'feed'],
          ...['--reach', 'https://a.example', 'https://b.example', '--reach', 'https://c.example'],
        ),
      );
      const entry = {
        id,
        name: 'Projects service',
        resource: 'https://projects.example',
        scopes: [
          { name: 'projects:read', description: 'See your projects' },
          { name: 'projects:write', description: 'Change them, a = b' },
        ],
        rights: ['users', 'feed'],
        reach: ['https://a.example', 'https://b.example', 'https://c.example'],
        redirect_uris: [],
        sign_out_redirect_uris: [],
        public: false,
        trusted: false,
        secrets: 1,
        created_at: expect.stringMatching(/^\d{4}-.*Z$/),
        last_used_at: null,
        revoked_at: null,
      };
      expect(await entryOf(id)).toEqual(entry);
      const { stdout: table } = await services('list');
      const [heading, ...rows] = table.split('\n');
      const row = rows.find((line) => line.startsWith(id));
      expect(heading).toMatch(
        /^ID +NAME +STATE +RESOURCE +SCOPES +RIGHTS +REACHES +SIGN-IN +LAST USED \(UTC\)$/,
      );
      expect(row).toMatch(
        /^svc_\S+ +Projects service +active +https:\/\/projects\.example +projects:read projects:write +users feed +https\S+ https\S+ https\S+ +- +never$/,
      );
      for (const text of [table, JSON.stringify(await listed())])
        expect(text).not.toContain(key.split(':')[1]!);
    });

    test('set replaces what its options name and can clear each of them', async () => {
      const { id } = keyFrom(await services('create', 'Changing', '--reach', 'https://a.example'));
      const steps: readonly (readonly [string[], object])[] = [
        [
          ['--scope', 'changing:write=Write', '--may', 'delegate'],
          { scopes: [{ name: 'changing:write', description: 'Write' }], rights: ['delegate'] },
        ],
        [
          ['--reach', 'https://d.example', '--resource', 'https://other.example'],
          { reach: ['https://d.example'], resource: 'https://other.example' },
        ],
        [['--no-resource', '--no-scope'], { resource: null, scopes: [] }],
        [['--no-may', '--no-reach'], { rights: [], reach: [] }],
      ];
      let expected: object = await entryOf(id);
      for (const [options, change] of steps) {
        expect((await services('set', id, ...options)).stdout).toBe(`Changed ${id}.\n`);
        expected = { ...expected, ...change };
        expect(await entryOf(id)).toEqual(expected);
      }
    });

    test('a resource that is empty, or named twice, is wrong usage and changes nothing', async () => {
      const { id } = keyFrom(await services('create', 'Fixed'));
      const before = await entryOf(id);
      for (const options of [
        ['--resource', ''],
        ['--resource', 'https://a.example', '--resource', 'https://b.example'],
      ])
        expect(await services('set', id, ...options)).toMatchObject({ code: 2, stdout: '' });
      expect(await entryOf(id)).toEqual(before);
    });

    test('an application is created and changed as a client with a key, a public or a trusted one', async () => {
      const redirect = ['--redirect', 'https://app.example/callback'];
      const local = ['--redirect', 'http://127.0.0.1/callback'];
      const { id } = keyFrom(await services('create', 'App', ...redirect, '--trusted'));
      const { stdout } = await services('create', 'Bare', ...redirect, '--public');
      const bare = stdout.trim().split('\n').at(-1)!;
      expect(bare).toMatch(/^svc_[\w-]{22}$/);
      const signIn = async (name: string) =>
        new RegExp(` ${name} .* (\\S+) +never\n`).exec((await services('list')).stdout)?.[1];
      expect([await signIn('App'), await signIn('Bare')]).toEqual(['trusted', 'public']);
      const refused = [
        ['create', 'x', '--public'],
        ['create', 'x', '--trusted'],
        ['create', 'x', ...redirect, '--public', '--trusted'],
        ['set', id, '--public'],
        ['set', id, '--no-redirect'],
        ['set', bare, '--no-public'],
        ['create', 'x', ...redirect, '--sign-out-redirect', 'http://app.example/'],
      ];
      const before = await listed();
      for (const args of refused) expect([args, (await services(...args)).code]).toEqual([args, 1]);
      expect(await listed()).toEqual(before);
      expect((await services('set', id, ...local, '--no-trusted')).code).toBe(0);
      expect(await signIn('App')).toBe('yes');
    });

    test('rotate adds a second key beside the first, retire ends the older one, revoke ends both', async () => {
      const first = keyFrom(await services('create', 'Rotating'));
      const namesake = await services('create', 'Rotating');
      expect(namesake.stdout).toContain(`Created the service Rotating. ${first.id} has the same name.`);
      await services('revoke', keyFrom(namesake).id);
      expect(await services('retire', first.id)).toMatchObject({ code: 1 });
      const second = keyFrom(await services('rotate', first.id));
      expect(second.id).toBe(first.id);
      expect((await services('list')).stdout).toMatch(/Rotating +two secrets /);
      expect(await services('rotate', first.id)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('two secrets already'),
      });
      const statuses = () =>
        Promise.all([first, second].map(async ({ key }) => (await introspect(key)).status));
      expect(await statuses()).toEqual([200, 200]);
      expect((await services('retire', first.id)).code).toBe(0);
      expect(await statuses()).toEqual([401, 200]);
      expect((await services('revoke', first.id)).code).toBe(0);
      expect(await statuses()).toEqual([401, 401]);
      expect((await services('list')).stdout).toMatch(/Rotating +revoked /);
    });

    test('declaring what another service has, or had before it was revoked, fails and names that service', async () => {
      const offered = ['--resource', 'https://wiki.example', '--scope', 'wiki:read=Read the wiki'];
      const former = keyFrom(await services('create', 'Wiki', ...offered));
      const refusal = async (...options: string[]) => {
        const { code, stdout, stderr } = await services('create', 'Other wiki', ...options);
        expect([code, stdout]).toEqual([1, '']);
        return stderr.trimEnd().split('\n').at(-1);
      };
      const owner = `belongs to Wiki (${former.id})`;
      expect(await refusal(...offered)).toBe(`latchkey-server: The resource https://wiki.example ${owner}.`);
      expect((await services('revoke', former.id)).code).toBe(0);
      expect(await refusal(...offered.slice(2))).toBe(
        `latchkey-server: The scope wiki:read ${owner}, which is revoked.`,
      );
    });

    test('a wrong option or value names itself and changes nothing', async () => {
      const { id } = keyFrom(await services('create', 'Untouched'));
      const before = await listed();
      const wrong: readonly (readonly [string[], number, string])[] = [
        [['create'], 2, "Missing required argument 'name'"],
        [['create', 'x', '--resource', 'projects'], 1, 'resource: must be an absolute URI'],
        [['create', 'x', '--resource', 'https://x.example/#a'], 1, 'resource: must be'],
        [['create', 'x', '--scope', 'read'], 2, 'NAME=SENTENCE'],
        [['create', 'x', '--scope', 'Read=x'], 1, 'scope: a name is'],
        [['create', 'x', '--scope', 'profile=x'], 1, 'profile is a scope of Latchkey itself'],
        [['create', 'x', '--scope', '*=x'], 1, 'scope: a name is'],
        [['create', 'x', '--scope', 'read='], 1, 'the sentence of read'],
        [['create', 'x', '--scope', 'a=x', '--scope', 'a=y'], 1, 'a appears twice'],
        [['create', 'x', '--may', 'everything'], 2, 'delegate, feed, operate, organizations, users'],
        [['create', 'x', '--reach', 'other'], 1, 'reach: must be an absolute URI'],
        [['set', id], 2, 'Name what to replace'],
        [['set', id, '--scope', 'Read=x'], 1, 'scope: a name is'],
        [['set', 'svc_unknown', '--may', 'feed'], 1, 'no active service svc_unknown'],
        [['rotate', 'svc_unknown'], 1, 'no active service'],
        [['retire', 'svc_unknown'], 1, 'no active service'],
      ];
      for (const [args, status, sentence] of wrong) {
        const { code, stderr } = await services(...args);
        expect([args, code, stderr]).toEqual([args, status, expect.stringContaining(sentence)]);
      }
      expect(await listed()).toEqual(before);
    });
  });
}

test('a list without services is a sentence for people and nothing for programs', async () => {
  const env = { DATABASE_URL: `sqlite:${join(temporaryDirectory(), 'empty.db')}` };
  await runOperator(env, 'migrate');
  expect((await runOperator(env, 'services', 'list')).stdout).toBe('There are no services.\n');
  expect((await runOperator(env, 'services', 'list', '--json')).stdout).toBe('');
});
