// The profile: merge patches, fields and conditional requests.

import { describe, expect, test } from 'bun:test';
import { outcome } from '#support/account.ts';
import { onBothDatabases, openApp, type TestApp } from '#support/app.ts';
import { fresh } from '#support/shared.ts';

type Person = Awaited<ReturnType<typeof person>>;

async function person(t: TestApp, email = 'ada@example.com') {
  const token = (await t.login(email)).access_token;
  return {
    token,
    get: () => t.ask('GET', '/me', { token }),
    patch: (json: unknown, headers: Record<string, string> = {}) =>
      t.ask('PATCH', '/me', { json, token, headers }),
  };
}

const url = (length: number) => `https://a.example/${'x'.repeat(length - 'https://a.example/'.length)}`;

const rocket = '\u{1F680}';

const valid: Readonly<Record<string, readonly unknown[]>> = {
  name: [
    'A',
    'x'.repeat(100),
    `Ada ${rocket} L\u00f6velace`,
    rocket.repeat(100),
    "<script>alert('1')</script>",
  ],
  avatar_url: ['https://example.com/a.png?x=1#y', url(2048), null],
  locale: ['de-CH', 'zh-Hant-TW', 'en-US-u-ca-buddhist', null],
  time_zone: ['Europe/Zurich', 'America/Argentina/Buenos_Aires', 'UTC', null],
};

const invalid: Readonly<Record<string, readonly unknown[]>> = {
  name: [
    ...['', ' ', '\u00a0\t', 'x'.repeat(101), rocket.repeat(101), null],
    ...['a\nb', 'a\u0000b', 'a\u2028b', 'a\u007fb'],
  ],
  avatar_url: [
    ...['', 'http://example.com/a.png', 'javascript:alert(1)', 'data:image/png;base64,AA'],
    ...['//example.com/a', 'a.png', 'https://', 'https://u:p@example.com/', 'https://u@example.com/'],
    ...[url(2049), 'https://a.example/\u0000', ' https://a.example/', 'https://a.example/\nx'],
    'https://a.example/x y',
  ],
  locale: ['', 'de_CH', 'x', '-', 'german language', 'en-', 'e\u00f1', 'a'.repeat(65), 'en\u0000'],
  time_zone: [
    ...['', '+01:00', 'Europe/Nowhere', '../../etc/passwd', 'Europe/Zurich ', 'x'.repeat(65), 'UTC\u0000'],
  ],
};

const entriesOf = (values: typeof valid) =>
  Object.entries(values).flatMap(([field, list]) => list.map((value) => [field, value] as const));

onBothDatabases('profile', (open) => {
  const t = fresh(open);

  test('a new profile has the name before the @, and is read with its session in one statement; a patch changes the fields that it names and no others, of its user only; one that changes nothing keeps updated_at and the entity tag', async () => {
    const [ada, bob] = [await person(t, 'Ada@Example.com'), await person(t, 'bob@example.com')];
    const statements = t.statements.length;
    const before = (await ada.get()).body;
    expect(t.statements.slice(statements)).toHaveLength(1);
    const unset = { avatar_url: null, locale: null, time_zone: null, updated_at: before.created_at };
    expect(before).toMatchObject({ email: 'Ada@Example.com', email_verified: true, name: 'Ada', ...unset });
    t.pass(5);
    const full = { name: 'Ada L', avatar_url: 'https://a.example/a', locale: 'en', time_zone: 'UTC' };
    const first = await ada.patch(full);
    expect(first.status).toBe(200);
    expect(first.body).toEqual({ ...before, ...full, updated_at: first.body.updated_at });
    expect(Date.parse(first.body.updated_at)).toBeGreaterThanOrEqual(Date.parse(before.updated_at) + 5000);
    const second = await ada.patch({ locale: null });
    expect(second.body).toEqual({ ...first.body, locale: null, updated_at: second.body.updated_at });
    const read = await ada.get();
    expect(read.body).toEqual(second.body);
    expect(read.headers.get('ETag')).toBe(second.headers.get('ETag'));
    expect(read.headers.get('ETag')).toMatch(/^"[^"]+"$/);
    expect((await bob.get()).body).toMatchObject({ name: 'bob', avatar_url: null });
    t.pass(60);
    for (const same of [{}, { name: 'Ada L' }, { time_zone: 'UTC', locale: null }, { unknown: 1 }]) {
      const { status, body, headers } = await ada.patch(same);
      expect([status, body, headers.get('ETag')]).toEqual([200, read.body, read.headers.get('ETag')]);
    }
  });

  test('every valid value of a field is returned unchanged', async () => {
    const ada = await person(t);
    for (const [field, value] of entriesOf(valid)) {
      const { status, body } = await ada.patch({ [field]: value });
      expect({ field, value, status, got: body[field] }).toEqual({ field, value, status: 200, got: value });
      expect((await ada.get()).body[field]).toBe(value);
    }
  });
});

describe('requests about a profile', () => {
  const t = fresh(() => openApp('sqlite'));

  test('an invalid value, or any of a read-only member, gets a 400 that names its field, and nothing changes', async () => {
    const ada = await person(t);
    const { body: before } = await ada.get();
    const readOnly = ['id', 'email', 'email_verified', 'created_at', 'updated_at'].map(
      (field) => [field, ['x', null, before[field]]] as const,
    );
    for (const [field, value] of entriesOf({ ...invalid, ...Object.fromEntries(readOnly) })) {
      const { status, body } = await ada.patch({ locale: 'fr', time_zone: 'UTC', [field]: value });
      expect([field, value, status, body.error]).toEqual([field, value, 400, 'invalid_request']);
      expect(body.error_description).toStartWith(`${field}: `);
    }
    expect((await ada.get()).body).toEqual(before);
  });

  test('If-Match with a former tag or that of another profile gets a 412 and changes nothing; If-None-Match with the current one a 304 without a body, until the profile changes; in a list, too, and only If-None-Match takes a weak one', async () => {
    const ada = await person(t);
    const tagOf = async (of: Person) => (await of.get()).headers.get('ETag')!;
    const stale = await tagOf(ada);
    const patch = async (json: object, ifMatch: string) =>
      outcome(await ada.patch(json, { 'If-Match': ifMatch }));
    expect(await patch({ name: 'changed' }, stale)).toBe('200');
    const foreign = await tagOf(await person(t, 'bob@example.com'));
    const current = await tagOf(ada);
    for (const tag of [stale, foreign, `W/${current}`, current.slice(1, -1), `"a" ${current}`, '', '"*"'])
      for (const json of [{ name: 'no' }, {}]) expect(await patch(json, tag)).toBe('412 precondition_failed');
    for (const tags of ['*', `"a",, W/"b" ,${current}`]) expect(await patch({}, tags)).toBe('200');
    expect((await ada.get()).body.name).toBe('changed');

    const read = async (tag: string, method = 'GET') => {
      const answer = await t.ask(method, '/me', { token: ada.token, headers: { 'If-None-Match': tag } });
      return [answer.status, answer.headers.get('ETag'), answer.text === ''];
    };
    const tag = await tagOf(ada);
    for (const method of ['GET', 'HEAD']) expect(await read(tag, method)).toEqual([304, tag, true]);
    expect((await read(`"a", W/${tag}`))[0]).toBe(304);
    expect(await read(stale)).toEqual([200, tag, false]);
    await ada.patch({ name: 'changed again' });
    expect((await read(tag))[0]).toBe(200);
  });
});

test('the profile has an entity tag for each scope that shows a part of it', async () => {
  const t = await openApp('sqlite');
  const owner = await t.login();
  const read = (token: string, tag = '') => t.ask('GET', '/me', { token, headers: { 'If-None-Match': tag } });
  const logins = ['profile', 'email', 'profile email', '*'].map((scope) => t.deviceLogin(owner, { scope }));
  const tokens = (await Promise.all(logins)).map(({ access_token }) => access_token);
  const readAll = async (tag?: string) => Promise.all(tokens.map((token) => read(token, tag)));
  const tags = (await readAll()).map(({ headers }) => headers.get('ETag')!);
  for (const [index, tag] of tags.entries()) {
    const statuses = (await readAll(tag)).map(({ status }) => status);
    expect(statuses).toEqual(tags.map((_, of) => (of === index ? 304 : 200)));
  }
  const body = { name: 'Ada Lovelace' };
  await t.api.call('updateProfile', { accessToken: owner.access_token, body });
  for (const [index, { headers }] of (await readAll()).entries())
    expect(headers.get('ETag')).not.toBe(tags[index]!);
});
