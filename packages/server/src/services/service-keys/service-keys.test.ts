import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { introspection } from '@latchkey/contract/services';
import { onBothDatabases, type TestApp, type Tokens } from '../../../../../tests/support/app.ts';
import { createAuthenticator } from '../../../../../tests/support/authenticator.ts';
import { setDisabled } from '../../identity/account/account.ts';
import { type HandleKind, handlePrefix, mintHandle } from '../../platform/crypto/handle.ts';
import { generateKey, parseKeyRing } from '../../platform/crypto/key-ring.ts';
import { createServiceKey, listServiceKeys, revokeServiceKey } from './service-keys.ts';

setDefaultTimeout(30_000);

const inactive = { active: false };
const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

let people = 0;
const someone = () => `introspected-${people++}@example.com`;

onBothDatabases('introspection', (open) => {
  let app: TestApp;
  let key: string;
  beforeAll(async () => {
    app = await open({ settings: { LATCHKEY_RATE_LIMITS: 'off' } });
    const { id, secret } = await createServiceKey(app.ctx, 'sessions');
    key = `${id}:${secret}`;
  });
  afterAll(() => app.close());

  const ask = (form: Record<string, string> | string, headers: Record<string, string> = {}) =>
    app.ask('POST', '/introspect', { form, headers: { Authorization: basic(key), ...headers } });
  const of = async (token: string) => {
    const answer = await ask({ token });
    expect(answer.status).toBe(200);
    return answer.body;
  };
  const me = async ({ access_token: token }: Tokens) => (await app.ask('GET', '/me', { token })).body;

  test('tells of an access token whose it is, of which login, from when and until when', async () => {
    const before = Math.floor(app.ctx.clock() / 1000);
    const tokens = await app.login(someone());
    const after = Math.floor(app.ctx.clock() / 1000);
    const answer = await ask({ token: tokens.access_token });
    expect(answer.headers.get('Cache-Control')).toBe('no-store');
    const found = introspection.parse(answer.body);
    if (!found.active) throw new Error('inactive');
    const [session] = (await app.ask('GET', '/sessions', { token: tokens.access_token })).body.sessions;
    expect(found).toEqual({
      active: true,
      token_use: 'access_token',
      token_type: 'Bearer',
      iss: app.ctx.config.baseUrl,
      sub: (await me(tokens)).id,
      sid: session.id,
      iat: found.iat,
      exp: found.exp,
      auth_time: found.iat,
      amr: ['otp'],
      session_kind: 'browser',
    });
    expect(found.iat).toBeGreaterThanOrEqual(before);
    expect(found.iat).toBeLessThanOrEqual(after);
    expect(found.exp - found.iat).toBe(14_400);
  });

  test('tells a refresh token apart, and spends nothing by looking', async () => {
    const tokens = await app.login(someone());
    for (let n = 0; n < 3; n++) {
      const found = await of(tokens.refresh_token);
      expect(found).toMatchObject({ active: true, token_use: 'refresh_token', sub: (await me(tokens)).id });
      expect(found.token_type).toBeUndefined();
      expect(found.exp - found.iat).toBe(30 * 86_400);
    }
    const { refresh_token } = tokens;
    const refreshed = await app.ask('POST', '/refresh', { json: { refresh_token } });
    expect(refreshed.status).toBe(200);
    expect(await of(refresh_token)).toEqual(inactive);
    expect(await of(refreshed.body.refresh_token)).toMatchObject({ active: true });
    expect(await me(refreshed.body)).toMatchObject({ id: expect.any(String) });
  });

  test('of a login by device code does not claim that a person was there', async () => {
    const browser = await app.login(someone());
    const found = await of((await app.deviceLogin(browser)).access_token);
    expect(found).toMatchObject({ active: true, session_kind: 'device', sub: (await me(browser)).id });
    expect([found.auth_time, found.amr, found.acr]).toEqual([undefined, undefined, undefined]);
  });

  test('of a login by passkey tells that it was phishing-resistant, and when: enough for a step-up', async () => {
    const { access_token: token } = await app.login(someone());
    const authenticator = createAuthenticator({ origin: app.ctx.config.baseUrl });
    const creation = (await app.ask('POST', '/passkey/register/challenge', { token })).body;
    const made = await app.ask('POST', '/passkey/register', { token, json: authenticator.create(creation) });
    expect(made.status).toBe(201);
    app.pass(3600);
    const options = (await app.ask('POST', '/passkey/login/challenge')).body;
    const login = await app.ask('POST', '/passkey/login', { json: authenticator.get(options) });
    expect(login.status).toBe(200);
    const found = await of(login.body.access_token);
    expect(found).toMatchObject({ acr: 'phr', amr: ['pop', 'user', 'mfa'], session_kind: 'browser' });
    const { refresh_token } = login.body;
    app.pass(600);
    const refreshed = await app.ask('POST', '/refresh', { json: { refresh_token } });
    const later = await of(refreshed.body.access_token);
    expect(later.auth_time).toBe(found.auth_time);
    expect(later.iat - found.iat).toBeGreaterThanOrEqual(600);
    expect(found.auth_time - (await of(token)).auth_time).toBeGreaterThanOrEqual(3600);
  });

  test('calls a token inactive from the moment its session ends, and tells nothing more', async () => {
    const ended: [string, (tokens: Tokens, email: string) => Promise<unknown>][] = [
      ['its logout', ({ access_token: token }) => app.ask('DELETE', '/logout?scope=session', { token })],
      ['logout everywhere', ({ access_token: token }) => app.ask('POST', '/revoke', { token })],
      ['RFC 7009', ({ refresh_token: token }) => app.ask('POST', '/revoke', { form: { token } })],
      ['a disabled account', (_, email) => setDisabled(app.ctx, email, true)],
    ];
    for (const [what, end] of ended) {
      const email = someone();
      const tokens = await app.login(email);
      expect([what, (await of(tokens.access_token)).active]).toEqual([what, true]);
      await end(tokens, email);
      expect([what, await of(tokens.access_token)]).toEqual([what, inactive]);
      expect([what, await of(tokens.refresh_token)]).toEqual([what, inactive]);
    }
  });

  test('calls an access token inactive after its four hours, a refresh token after its thirty days', async () => {
    const tokens = await app.login(someone());
    app.pass(14_399);
    expect((await of(tokens.access_token)).active).toBe(true);
    app.pass(2);
    expect(await of(tokens.access_token)).toEqual(inactive);
    expect((await of(tokens.refresh_token)).active).toBe(true);
    app.pass(30 * 86_400);
    expect(await of(tokens.refresh_token)).toEqual(inactive);
  });

  test('asks the store once for the key, and of what is forged, foreign or no token never', async () => {
    const { access_token } = await app.login(someone());
    await of(access_token);
    await Bun.sleep(20);
    const handle = { subject: Buffer.alloc(16, 7), value: app.ctx.clock() + 1_000_000 };
    const foreign = parseKeyRing(generateKey());
    const others = (Object.keys(handlePrefix) as HandleKind[]).filter(
      (kind) => !/^(access|refresh)Token$/.test(kind),
    );
    const strings = [
      'x',
      'garbage '.repeat(125),
      '\0\u{1f511}',
      access_token.slice(0, -1),
      `${access_token}=`,
      access_token.replace('lk_at_', 'lk_rt_'),
      mintHandle(foreign, 'accessToken', handle),
      mintHandle(foreign, 'refreshToken', handle),
      mintHandle(app.ctx.keys, 'accessToken', { ...handle, value: app.ctx.clock() - 1 }),
      ...others.map((kind) => mintHandle(app.ctx.keys, kind, handle)),
      key,
      key.split(':')[1]!,
    ];
    for (const token of strings) {
      const before = app.statements.length;
      expect([token, await of(token)]).toEqual([token, inactive]);
      expect([token, app.statements.slice(before).length]).toEqual([token, 1]);
      expect(app.statements.at(-1)).toContain('service_keys');
    }
    const before = app.statements.length;
    expect((await of(access_token)).active).toBe(true);
    expect(app.statements.slice(before)).toHaveLength(2);
    expect(await of(mintHandle(app.ctx.keys, 'accessToken', handle))).toEqual(inactive);
  });

  test('takes the hint of a kind for what it is: a hint', async () => {
    const tokens = await app.login(someone());
    for (const token_type_hint of ['access_token', 'refresh_token', 'nonsense', '']) {
      for (const token of [tokens.access_token, tokens.refresh_token]) {
        expect((await ask({ token, token_type_hint })).body.active).toBe(true);
      }
    }
  });

  test('speaks JSON as well as forms, and says what is wrong with either', async () => {
    const { access_token: token } = await app.login(someone());
    const headers = { Authorization: basic(key) };
    const json = await app.ask('POST', '/introspect', { json: { token }, headers });
    expect(json.body).toEqual(await of(token));
    const wrong: [string, string][] = [
      ['', 'token'],
      ['token=', 'token'],
      [`token=${token}&token=${token}`, 'token: appears twice'],
      [`token=${token}&token_type_hint=a&token_type_hint=b`, 'token_type_hint: appears twice'],
      [`token=${token}&token_type_hint=${'h'.repeat(101)}`, 'token_type_hint'],
    ];
    for (const [form, sentence] of wrong) {
      const answer = await ask(form);
      expect([form, answer.status, answer.body.error]).toEqual([form, 400, 'invalid_request']);
      expect(answer.body.error_description).toContain(sentence);
    }
    const twice = `{"token":"x","token":${JSON.stringify(token)}}`;
    const type = { 'Content-Type': 'application/json' };
    for (const raw of [twice, '{}', '[]', '{"token":7}', '{'])
      expect((await app.ask('POST', '/introspect', { raw, headers: { ...headers, ...type } })).status).toBe(
        400,
      );
  });

  describe('is for services alone:', () => {
    const refused = async (headers: Record<string, string>) => {
      const answer = await app.ask('POST', '/introspect', { form: { token: 'x' }, headers });
      expect([answer.status, answer.body.error]).toEqual([401, 'invalid_client']);
      expect(answer.headers.get('WWW-Authenticate')).toStartWith('Basic realm=');
      return answer;
    };
    const [id, secret] = ['svc_', 'lk_sk_'];

    test('without a key, with what is none, or with a token of a user, no statement is run', async () => {
      const tokens = await app.login(someone());
      const before = app.statements.length;
      const headers = [
        undefined,
        '',
        'Basic',
        'Basic ====',
        'Basic Zm9v',
        basic('a:b'),
        basic(`${key}x`),
        basic(`${key}\n`),
        basic(key.replace(':', '')),
        basic('%'),
        basic(`${id}${'A'.repeat(22)}:${tokens.access_token}`),
        `Bearer ${tokens.access_token}`,
        `Bearer ${key}`,
        basic(`${tokens.access_token}:`),
      ];
      for (const header of headers) await refused(header === undefined ? {} : { Authorization: header });
      expect(app.statements.slice(before)).toEqual([]);
    });

    test('an unknown id and a wrong secret are refused in the same words, before the body is looked at', async () => {
      const unknown = `${id}${'A'.repeat(22)}:${secret}${'A'.repeat(43)}`;
      const wrong = `${key.split(':')[0]}:${secret}${'A'.repeat(43)}`;
      const bodies = await Promise.all(
        [unknown, wrong].map(async (text) => {
          const { body } = await refused({ Authorization: basic(text), 'X-Request-Id': 'same' });
          return body;
        }),
      );
      expect(bodies[0]).toEqual(bodies[1]);
      const answer = await app.ask('POST', '/introspect', {
        raw: '{',
        headers: { 'Content-Type': 'application/json', Authorization: basic(unknown) },
      });
      expect(answer.status).toBe(401);
    });

    test('a service key opens nothing of a user', async () => {
      for (const headers of [{ Authorization: basic(key) }, { Authorization: `Bearer ${key.split(':')[1]}` }])
        expect((await app.ask('GET', '/me', { headers })).status).toBe(401);
    });

    test('a key may come with its id and secret form-encoded, as RFC 6749 section 2.3.1 says', async () => {
      const encoded = key.replaceAll('-', '%2D').replaceAll('_', '%5F');
      expect((await ask({ token: 'x' }, { Authorization: basic(encoded) })).status).toBe(200);
      expect((await ask({ token: 'x' }, { Authorization: `bAsIc  ${basic(key).slice(6)}` })).status).toBe(
        200,
      );
    });

    test('a revoked key is refused at once, on every node; its fellow lives on', async () => {
      const other = await open({ beside: app });
      const made = await createServiceKey(app.ctx, 'sessions');
      const headers = { Authorization: basic(`${made.id}:${made.secret}`) };
      const form = { token: 'x' };
      expect((await other.ask('POST', '/introspect', { form, headers })).status).toBe(200);
      await revokeServiceKey(app.ctx, made.id);
      expect((await other.ask('POST', '/introspect', { form, headers })).status).toBe(401);
      await refused(headers);
      expect((await ask(form)).status).toBe(200);
      await expect(revokeServiceKey(app.ctx, made.id)).rejects.toThrow('no live service key');
      const listed = (await listServiceKeys(app.ctx)).find((row) => row.id === made.id);
      expect(listed).toMatchObject({ name: 'sessions', revoked_at: expect.any(Number) });
      await other.close();
    });
  });

  test('a key is stored as a hash alone, and its use is noted now and then', async () => {
    const made = await createServiceKey(app.ctx, 'projects');
    const headers = { Authorization: basic(`${made.id}:${made.secret}`) };
    const rows = JSON.stringify(await app.ctx.db.read.run('SELECT * FROM service_keys', []));
    expect(rows).toContain(made.id);
    expect(rows).not.toContain(made.secret.slice(6));
    const lastUse = async () =>
      (await listServiceKeys(app.ctx)).find((row) => row.id === made.id)?.last_used_at;
    expect(await lastUse()).toBeNull();
    await ask({ token: 'x' }, headers);
    for (let n = 0; n < 100 && (await lastUse()) === null; n++) await Bun.sleep(5);
    const noted = await lastUse();
    expect(noted).toBeNumber();
    app.pass(299);
    await ask({ token: 'x' }, headers);
    await Bun.sleep(20);
    expect(await lastUse()).toBe(noted!);
    app.pass(2);
    await ask({ token: 'x' }, headers);
    for (let n = 0; n < 100 && (await lastUse()) === noted; n++) await Bun.sleep(5);
    expect(await lastUse()).toBeGreaterThan(noted!);
  });

  test('a key needs a name that people can read', async () => {
    for (const name of ['', ' ', 'x'.repeat(101), 'a\nb'])
      await expect(createServiceKey(app.ctx, name)).rejects.toThrow('The name must be');
    await createServiceKey(app.ctx, 'x'.repeat(100));
  });
});
