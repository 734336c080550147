import { afterAll, beforeAll, expect, test } from 'bun:test';
import { outcome } from '../../../../../tests/support/account.ts';
import { onBothDatabases, type TestApp, type Tokens } from '../../../../../tests/support/app.ts';

const always = ['id', 'created_at', 'updated_at'];
const ofEmail = ['email', 'email_verified'];
const ofProfile = ['name', 'avatar_url', 'locale', 'time_zone'];

onBothDatabases('the profile that a token may see', (open) => {
  let app: TestApp;
  let owner: Tokens;
  beforeAll(async () => {
    app = await open();
    owner = await app.login();
  });
  afterAll(() => app.close());

  const tokenWith = async (scope: string) => (await app.deviceLogin(owner, { scope })).access_token;
  const get = (token: string, ifNoneMatch?: string) =>
    app.ask('GET', '/me', {
      token,
      headers: ifNoneMatch === undefined ? {} : { 'If-None-Match': ifNoneMatch },
    });

  test.each<[string, string[]]>([
    ['profile', ofProfile],
    ['email', ofEmail],
    ['profile email', [...ofEmail, ...ofProfile]],
    ['openid profile offline_access', ofProfile],
    ['organizations email', ofEmail],
    ['*', [...ofEmail, ...ofProfile]],
  ])('with the scope %s is no more than that, and no less', async (scope, members) => {
    const { body } = await get(await tokenWith(scope));
    expect(Object.keys(body).toSorted()).toEqual([...always, ...members].toSorted());
    const { body: whole } = await get(owner.access_token);
    expect(whole).toMatchObject(body);
  });

  test.each(['organizations', 'openid', 'offline_access', 'openid offline_access organizations'])(
    'with the scope %s is nothing',
    async (scope) => {
      expect(outcome(await get(await tokenWith(scope)))).toBe('403 insufficient_scope');
    },
  );

  test('has an entity tag of its own, which changes with the profile', async () => {
    const scopes = ['profile', 'email', 'profile email', '*'];
    const tokens = await Promise.all(scopes.map(tokenWith));
    const tagsOf = async () =>
      Promise.all(tokens.map(async (token) => (await get(token)).headers.get('ETag')!));
    const tags = await tagsOf();
    expect(new Set(tags).size).toBe(scopes.length);
    for (const [index, token] of tokens.entries()) {
      const statuses = await Promise.all(tags.map(async (tag) => (await get(token, tag)).status));
      expect(statuses).toEqual(tags.map((_, of) => (of === index ? 304 : 200)));
    }
    const body = { name: 'Ada Lovelace' };
    await app.api.call('updateProfile', { accessToken: owner.access_token, body });
    for (const [index, tag] of (await tagsOf()).entries()) expect(tag).not.toBe(tags[index]!);
  });
});
