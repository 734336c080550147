// `latchkey-server services`, from its options to what is listed and printed. What may be registered is in
// services/registration.test.ts, and what keys and declarations do, on both databases, in services/service-keys.test.ts and declarations.test.ts.

import { expect, test } from 'bun:test';
import { newDatabase } from '#support/new-database.ts';
import { linesIn, operatorOn, runOperatorInto } from '#support/service.ts';
import { fresh } from '#support/shared.ts';

const store = fresh(async () => {
  const env = { DATABASE_URL: await newDatabase('sqlite') };
  await operatorOn(env).run('migrate');
  return { env };
});
const services = (...args: string[]) => operatorOn(store.env).done('services', ...args);
const listed = () => operatorOn(store.env).listed('services', 'list');
const refused = (args: readonly string[], status: 1 | 2, sentence: string) =>
  operatorOn(store.env).refused(['services', ...args], status, sentence);

/** The key on the last line of a command that succeeds, and the id in it. */
const keyFrom = (stdout: string) => {
  const key = linesIn(stdout).at(-1)!;
  expect(key).toMatch(/^svc_[\w-]{22}:lk_sk_[\w-]{43}$/);
  return { key, id: key.split(':')[0]! };
};

const app = 'https://app.example';
const none = {
  ...{ resource: null, scopes: [], rights: [], reach: [], redirect_uris: [], sign_out_redirect_uris: [] },
  ...{ public: false, trusted: false },
};

test('create prints the key on its last line, and the list shows what was declared, without secrets', async () => {
  expect(await services('list')).toBe('There are no services.\n');
  expect(await services('list', '--json')).toBe('');
  const { key, id } = keyFrom(
    await services(
      ...['create', 'Projects service', '--resource', 'https://projects.example'],
      ...['--scope', 'projects:read=See your projects', '--scope', 'projects:write=Change them, a = b'],
      ...['--may', 'users', '--may', 'feed'],
      ...['--reach', 'https://a.example', 'https://b.example', '--reach', 'https://c.example'],
    ),
  );
  expect(await listed()).toEqual([
    {
      ...{ id, ...none, name: 'Projects service', resource: 'https://projects.example' },
      scopes: [
        { name: 'projects:read', description: 'See your projects' },
        { name: 'projects:write', description: 'Change them, a = b' },
      ],
      rights: ['users', 'feed'],
      reach: ['https://a.example', 'https://b.example', 'https://c.example'],
      ...{
        secrets: 1,
        created_at: expect.stringMatching(/^\d{4}-.*Z$/),
        last_used_at: null,
        revoked_at: null,
      },
    },
  ]);
  const table = await services('list');
  expect(table).toMatch(
    /^ID +NAME +STATE +RESOURCE +SCOPES +RIGHTS +REACHES +SIGN-IN +LAST USED \(UTC\)\nsvc_\S+ +Projects service +active +https:\/\/projects\.example +projects:read projects:write +users feed +https\S+ https\S+ https\S+ +- +never\n$/,
  );
  expect(table + JSON.stringify(await listed())).not.toContain(key.split(':')[1]!);
});

test('set replaces what its options name, leaves the rest, and can clear each of them', async () => {
  const { id } = keyFrom(await services('create', 'Changing', '--reach', 'https://a.example'));
  const everything = `--may delegate --scope changing:w=W --reach ${app}/r --resource ${app}/other --redirect ${app}/a --sign-out-redirect ${app}/b --trusted`;
  const all = {
    ...{ rights: ['delegate'], reach: [`${app}/r`], resource: `${app}/other`, trusted: true, public: false },
    scopes: [{ name: 'changing:w', description: 'W' }],
    ...{ redirect_uris: [`${app}/a`], sign_out_redirect_uris: [`${app}/b`] },
  };
  for (const [options, expected] of [
    [everything, all],
    [`--reach ${app}/s`, { ...all, reach: [`${app}/s`] }],
    [
      '--scope changing:r=R',
      { ...all, reach: [`${app}/s`], scopes: [{ name: 'changing:r', description: 'R' }] },
    ],
    [everything, all],
    ['--no-trusted', { ...all, trusted: false }],
    ['--no-resource --no-scope --no-may --no-reach --no-redirect --no-sign-out-redirect --no-public', none],
  ] as const) {
    expect(await services('set', id, ...options.split(' '))).toBe(`Changed ${id}.\n`);
    expect(await listed()).toMatchObject([expected]);
  }
});

test('an application is a client with a key, a trusted or a public one, whose id is printed alone', async () => {
  const redirect = ['--redirect', 'https://app.example/callback'];
  const { id } = keyFrom(await services('create', 'App', ...redirect, '--trusted'));
  const bare = linesIn(await services('create', 'Bare', ...redirect, '--public')).at(-1)!;
  expect(bare).toMatch(/^svc_[\w-]{22}$/);
  const signIns = async () => (await services('list')).match(/\S+(?= +never\n)/g);
  expect(await signIns()).toEqual(['trusted', 'public']);
  await refused(['set', id, '--public'], 1, 'trusted');
  await refused(['set', bare, '--no-public'], 1, 'key');
  await services('set', id, '--no-trusted');
  expect(await signIns()).toEqual(['yes', 'public']);
});

test('rotate prints a second key of the service, retire ends one, revoke both, and the list says so', async () => {
  const { id, key } = keyFrom(await services('create', 'Rotating'));
  expect(await services('create', 'Rotating')).toContain(
    `Created the service Rotating. ${id} has the same name.`,
  );
  const second = keyFrom(await services('rotate', id));
  expect([second.id, second.key === key]).toEqual([id, false]);
  expect(await services('list')).toMatch(/Rotating +two secrets /);
  await services('retire', id);
  expect(await services('list')).toMatch(/Rotating +active .*\n.*Rotating +active /);
  await services('revoke', id);
  expect(await services('list')).toMatch(/Rotating +revoked .*\n.*Rotating +active /);
  await services('create', 'Rotating');
  expect(await services('create', 'Rotating')).toMatch(/Rotating\. svc_\S+, svc_\S+ have the same name\./);
});

test('a wrong option or value names itself and changes nothing', async () => {
  const offered = ['--resource', 'https://wiki.example', '--scope', 'wiki:read=Read the wiki'];
  const { id } = keyFrom(await services('create', 'Wiki', ...offered));
  const before = await listed();
  for (const [args, status, sentence] of [
    [['create'], 2, "Missing required argument 'name'"],
    ...['', ' ', 'a\nb', 'x'.repeat(101)].map((name) => [['create', name], 1, 'The name must be'] as const),
    [['create', 'x', '--scope', 'read'], 2, 'NAME=SENTENCE'],
    [['create', 'x', '--may', 'everything'], 2, 'delegate, feed, operate, organizations, users'],
    [['create', 'x', '--resource', 'projects'], 1, 'resource: must be an absolute URI'],
    [['create', 'x', '--public'], 1, 'redirect'],
    [['create', 'x', ...offered], 1, `The resource https://wiki.example belongs to Wiki (${id}).`],
    [['set', id], 2, 'Name what to replace'],
    [['set', id, '--resource', ''], 2, 'It must be a URI'],
    [['set', id, '--resource', 'https://a.example', '--resource', 'https://b.example'], 2, 'at most one'],
    [['set', 'svc_unknown', '--may', 'feed'], 1, 'no active service svc_unknown'],
    ...['rotate', 'retire', 'revoke'].map(
      (command) => [[command, 'svc_unknown'], 1, 'no active service'] as const,
    ),
  ] as const)
    await refused(args, status, sentence);
  expect(await listed()).toEqual(before);
});

test('a key that cannot be printed is not made', async () => {
  const into = (redirection: string, ...args: string[]) =>
    runOperatorInto(redirection, store.env, 'services', ...args);
  const lost = {
    code: 1,
    stderr: expect.stringMatching(/^latchkey-server: Standard output .* Nothing was changed\.$/m),
  };
  for (const redirection of ['>&-', '>/dev/null', '>/dev/full'])
    expect(await into(redirection, 'create', 'tickets')).toEqual(lost);
  expect(await listed()).toEqual([]);
  const { id } = keyFrom(await services('create', 'billing'));
  expect(await into('>&-', 'rotate', id)).toEqual(lost);
  expect(await listed()).toMatchObject([{ id, secrets: 1 }]);
  // The id of a public service is no secret.
  const page = ['create', 'page', '--public', '--redirect', 'http://localhost:3000/back'];
  expect((await into('>/dev/null', ...page)).code).toBe(0);
  expect(await into('>&-', ...page)).toEqual(lost);
  expect(await listed()).toHaveLength(2);
});
