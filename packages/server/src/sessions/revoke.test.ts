import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import {
  type Answer,
  type Ask,
  onBothDatabases,
  type TestApp,
  type Tokens,
} from '../../../../tests/support/app.ts';

setDefaultTimeout(30_000);

const settings = { LATCHKEY_RATE_LIMITS: 'off' };
let people = 0;
const someone = () => `person-${people++}@example.com`;
const outcome = ({ status, body }: Answer) => (body?.error ? `${status} ${body.error}` : String(status));

onBothDatabases('ending logins', (open, dialect) => {
  let app: TestApp;
  /** Another node, so that an end is seen to hold everywhere. */
  let node: TestApp;
  beforeAll(async () => {
    app = await open({ settings });
    node = dialect === 'postgres' ? await open({ settings, beside: app }) : app;
  });
  afterAll(async () => {
    if (node !== app) await node.close();
    await app.close();
  });

  const expectLive = async (tokens: Tokens) => {
    expect(outcome(await node.ask('GET', '/me', { token: tokens.access_token }))).toBe('200');
    const refreshed = await node.ask('POST', '/refresh', { json: { refresh_token: tokens.refresh_token } });
    expect(outcome(refreshed)).toBe('200');
  };
  const expectEnded = async (tokens: Tokens) => {
    expect(outcome(await node.ask('GET', '/me', { token: tokens.access_token }))).toBe('401 invalid_token');
    const refreshed = await node.ask('POST', '/refresh', { json: { refresh_token: tokens.refresh_token } });
    expect(outcome(refreshed)).toBe('400 invalid_grant');
  };
  /** Two logins of one person in browsers, one of a program, and one of another person. */
  const logins = async () => {
    const email = someone();
    const own = await app.login(email);
    const other = await app.login(email);
    return { own, other, device: await app.deviceLogin(own), stranger: await app.login(someone()) };
  };

  for (const [method, path] of [
    ['POST', '/revoke'],
    ['DELETE', '/logout'],
  ] as const) {
    describe(`${method} ${path}`, () => {
      const end = (tokens: Tokens, ask: Ask = {}, query = '') =>
        app.ask(method, path + query, { token: tokens.access_token, ...ask });

      test.each<[string, Ask]>([
        ['no body', {}],
        ['an empty object', { json: {} }],
        ['members it does not know', { json: { everywhere: false, scopes: 'session' } }],
      ])('with %s ends every login of the user and of nobody else', async (_, ask) => {
        const { own, other, device, stranger } = await logins();
        const answer = await end(own, ask);
        expect([answer.status, answer.text]).toEqual([204, '']);
        for (const tokens of [own, other, device]) await expectEnded(tokens);
        await expectLive(stranger);
      });

      test.each<[string, Ask, string]>([
        ['the body', { json: { scope: 'session' } }, ''],
        ['the query', {}, '?scope=session'],
        ['both', { json: { scope: 'session' } }, '?scope=session'],
        ['the query beside an empty body', { json: {} }, '?scope=session'],
      ])('with scope=session in %s ends only the login presented', async (_, ask, query) => {
        const { own, other, device, stranger } = await logins();
        expect((await end(device, ask, query)).status).toBe(204);
        await expectEnded(device);
        for (const tokens of [own, other, stranger]) await expectLive(tokens);
      });

      test.each<[string, Ask, string]>([
        ['an unknown scope in the body', { json: { scope: 'all' } }, ''],
        ['an empty scope in the body', { json: { scope: '' } }, ''],
        ['a null scope in the body', { json: { scope: null } }, ''],
        ['a list as scope in the body', { json: { scope: ['session'] } }, ''],
        ['a scope in other letter case', { json: { scope: 'Session' } }, ''],
        ['an unknown scope in the query', {}, '?scope=all'],
        ['an empty scope in the query', {}, '?scope='],
        ['a scope twice in the query', {}, '?scope=session&scope=session'],
        ['a scope twice in the body', { raw: '{"scope":"session","scope":"session"}' }, ''],
        ['a good body beside a wrong query', { json: { scope: 'session' } }, '?scope=all'],
        ['a good query beside a wrong body', { json: { scope: 'all' } }, '?scope=session'],
        ['a body that is no object', { json: ['session'] }, ''],
        ['a body that is no JSON', { raw: '{"scope":' }, ''],
      ])('with %s is refused and ends nothing', async (_, ask, query) => {
        const { own, other } = await logins();
        const headers = { 'Content-Type': 'application/json' };
        const answer = await end(own, 'raw' in ask ? { ...ask, headers } : ask, query);
        expect(outcome(answer)).toBe('400 invalid_request');
        for (const tokens of [own, other]) await expectLive(tokens);
      });

      test('also ends device logins that were approved but not picked up, and only those', async () => {
        const own = await app.login(someone());
        const start = async () => (await app.ask('POST', '/device')).body;
        const [approved, pending] = [await start(), await start()];
        const approve = (user_code: string, { access_token: token }: Tokens) =>
          app.ask('POST', '/device/approve', { json: { user_code }, token });
        expect((await approve(approved.user_code, own)).status).toBe(204);
        expect((await end(own)).status).toBe(204);
        const poll = (device_code: string) => node.ask('POST', '/token', { json: { device_code } });
        expect(outcome(await poll(approved.device_code))).toBe('400 invalid_grant');
        expect(outcome(await poll(approved.device_code))).toBe('400 invalid_grant');

        expect((await approve(pending.user_code, await app.login(someone()))).status).toBe(204);
        expect(outcome(await poll(pending.device_code))).toBe('200');
      });

      test('with scope=session leaves approved device logins to be picked up', async () => {
        const own = await app.login(someone());
        const { user_code, device_code } = (await app.ask('POST', '/device')).body;
        await app.ask('POST', '/device/approve', { json: { user_code }, token: own.access_token });
        expect((await end(own, {}, '?scope=session')).status).toBe(204);
        expect(outcome(await app.ask('POST', '/token', { json: { device_code } }))).toBe('200');
      });

      test('works once: the token it was called with is no good for a second time', async () => {
        const own = await app.login(someone());
        expect(outcome(await end(own))).toBe('204');
        expect(outcome(await end(own))).toBe('401 invalid_token');
      });

      test('without a credential ends nothing', async () => {
        const own = await app.login(someone());
        expect(outcome(await app.ask(method, path))).toBe('401 invalid_token');
        await expectLive(own);
      });

      test('lets the user log in anew', async () => {
        const email = someone();
        await end(await app.login(email));
        await expectLive(await app.login(email));
      });
    });
  }

  test('nobody refreshes past the end of all logins, however closely they race', async () => {
    for (let round = 0; round < 8; round++) {
      const { own, other } = await logins();
      const [ended, refreshed] = await Promise.all([
        app.ask('POST', '/revoke', { token: own.access_token }),
        node.ask('POST', '/refresh', { json: { refresh_token: other.refresh_token } }),
      ]);
      expect(ended.status).toBe(204);
      if (refreshed.status === 200) await expectEnded(refreshed.body);
      await expectEnded(other);
    }
  });

  test('nobody picks up a device login past the end of all logins, however closely they race', async () => {
    for (let round = 0; round < 8; round++) {
      const own = await app.login(someone());
      const { user_code, device_code } = (await app.ask('POST', '/device')).body;
      await app.ask('POST', '/device/approve', { json: { user_code }, token: own.access_token });
      const [ended, redeemed] = await Promise.all([
        app.ask('POST', '/revoke', { token: own.access_token }),
        node.ask('POST', '/token', { json: { device_code } }),
      ]);
      expect(ended.status).toBe(204);
      if (redeemed.status === 200) await expectEnded(redeemed.body);
      expect(outcome(await node.ask('POST', '/token', { json: { device_code } }))).toBe('400 invalid_grant');
    }
  });

  test('nobody approves a device login past the end of all logins, however closely they race', async () => {
    for (let round = 0; round < 16; round++) {
      const own = await app.login(someone());
      const { user_code, device_code } = (await app.ask('POST', '/device')).body;
      const [ended] = await Promise.all([
        app.ask('POST', '/revoke', { token: own.access_token }),
        node.ask('POST', '/device/approve', { json: { user_code }, token: own.access_token }),
      ]);
      expect(ended.status).toBe(204);
      expect((await node.ask('POST', '/token', { json: { device_code } })).status).toBe(400);
    }
  });

  test('64 ends of one login at once are all content', async () => {
    const own = await app.login(someone());
    const answers = await Promise.all(
      Array.from({ length: 64 }, () =>
        app.ask('DELETE', '/logout?scope=session', { token: own.access_token }),
      ),
    );
    expect(answers.filter(({ status }) => ![204, 401].includes(status))).toEqual([]);
    expect(answers.some(({ status }) => status === 204)).toBe(true);
    await expectEnded(own);
  });
});
