import { expect, test } from 'bun:test';
import { type Ask, onBothDatabases, type TestApp, type Tokens } from '../../../../../tests/support/app.ts';
import {
  type Algorithm,
  type Authenticator,
  type AuthenticatorOptions,
  createAuthenticator,
  flag,
} from '../../../../../tests/support/authenticator.ts';
import { fresh } from '../../../../../tests/support/shared.ts';

const algorithms: readonly Algorithm[] = ['ES256', 'EdDSA', 'RS256'];

const authenticatorFor = (app: TestApp, options: Partial<AuthenticatorOptions> = {}): Authenticator =>
  createAuthenticator({ origin: app.ctx.config.baseUrl, ...options });

async function creationOptions(app: TestApp, tokens: Tokens) {
  const { status, body } = await app.ask('POST', '/passkey/register/challenge', {
    token: tokens.access_token,
  });
  expect(status).toBe(200);
  return body;
}

async function register(app: TestApp, tokens: Tokens, authenticator: Authenticator, name?: string) {
  const options = await creationOptions(app, tokens);
  const json = { ...authenticator.create(options), ...(name === undefined ? {} : { name }) };
  return app.ask('POST', '/passkey/register', { token: tokens.access_token, json });
}

const requestOptions = async (app: TestApp) => (await app.ask('POST', '/passkey/login/challenge')).body;

async function signIn(app: TestApp, authenticator: Authenticator, ask: Ask = {}) {
  const json = authenticator.get(await requestOptions(app));
  return app.ask('POST', '/passkey/login', { ...ask, json });
}

const listed = async (app: TestApp, tokens: Tokens) =>
  (await app.ask('GET', '/passkeys', { token: tokens.access_token })).body.passkeys;

const eventsOf = (app: TestApp, type: string) =>
  app.ctx.db.read.run<{ detail: string; session_id: string | null }>(
    `SELECT detail, session_id FROM events WHERE type = '${type}' ORDER BY created_at`,
    [],
  );

onBothDatabases('passkeys', (open) => {
  const app = fresh(open);

  for (const algorithm of algorithms) {
    test(`a user registers a passkey with ${algorithm} and signs in with it`, async () => {
      const app = await open();
      const tokens = await app.login();
      const authenticator = authenticatorFor(app, { algorithm });
      const { status, body: record } = await register(app, tokens, authenticator);
      expect(status).toBe(201);
      expect(record).toEqual({
        id: expect.stringMatching(/^pk_[\w-]{22}$/),
        credential_id: authenticator.credentials[0]!.id,
        name: 'Passkey',
        aaguid: '00000000-0000-0000-0000-000000000000',
        device_type: 'single_device',
        backed_up: false,
        transports: ['internal', 'hybrid'],
        created_at: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
        last_used_at: null,
      });
      app.pass(60);
      const signedIn = await signIn(app, authenticator);
      expect(signedIn.status).toBe(200);
      expect(Object.keys(signedIn.body).sort()).toEqual([
        'access_token',
        'expires_in',
        'refresh_token',
        'token_type',
      ]);
      const me = await app.ask('GET', '/me', { token: signedIn.body.access_token });
      expect(me.body.email).toBe('ada@example.com');
      const [used] = await listed(app, tokens);
      expect(Date.parse(used.last_used_at) - Date.parse(used.created_at)).toBeGreaterThanOrEqual(60_000);
      const sessions = await app.ask('GET', '/sessions', { token: signedIn.body.access_token });
      expect(sessions.body.sessions[0]).toMatchObject({ method: 'passkey', kind: 'browser', current: true });
    });
  }

  test('the members of a ceremony may be base64 or base64url, padded or not, without rawId; the answers are base64url', async () => {
    const tokens = await app.login();
    const padded = (text: string) => text.padEnd(Math.ceil(text.length / 4) * 4, '=');
    const standard = (text: string) => text.replaceAll('-', '+').replaceAll('_', '/');
    const spellings = [padded, standard, (text: string) => padded(standard(text))];
    for (const spell of spellings) {
      const authenticator = authenticatorFor(app);
      const respelled = ({ rawId, ...json }: ReturnType<Authenticator['create' | 'get']>) =>
        JSON.parse(
          JSON.stringify(spell === standard ? { ...json, rawId } : json, (name, value) =>
            typeof value === 'string' && !/^(type|authenticatorAttachment|\d)$/.test(name)
              ? spell(value)
              : value,
          ),
        );
      const created = authenticator.create(await creationOptions(app, tokens));
      const { status, body } = await app.ask('POST', '/passkey/register', {
        token: tokens.access_token,
        json: respelled(created),
      });
      expect([status, body.credential_id]).toEqual([201, created.id]);
      const signIn = respelled(authenticator.get(await requestOptions(app)));
      expect((await app.ask('POST', '/passkey/login', { json: signIn })).status).toBe(200);
      const tampered = authenticator.get(await requestOptions(app), { id: `${created.id}=` });
      expect((await app.ask('POST', '/passkey/login', { json: tampered })).status).toBe(200);
    }
  });

  test('browsers ask for a passkey under the name of the product', async () => {
    const name = '<script>alert(1)</script>';
    const app = await open({ settings: { LATCHKEY_PRODUCT_NAME: name } });
    expect((await creationOptions(app, await app.login())).rp).toEqual({ id: 'localhost', name });
  });

  test('the options follow WebAuthn Level 3, and the user handle is one random value per account', async () => {
    const tokens = await app.login();
    const first = await creationOptions(app, tokens);
    expect(first).toEqual({
      rp: { id: 'localhost', name: 'Latchkey' },
      user: { id: expect.stringMatching(/^[\w-]{86}$/), name: 'ada@example.com', displayName: 'ada' },
      challenge: expect.stringMatching(/^[\w-]{80}$/),
      pubKeyCredParams: [
        { type: 'public-key', alg: -8 },
        { type: 'public-key', alg: -7 },
        { type: 'public-key', alg: -257 },
      ],
      timeout: 300_000,
      excludeCredentials: [],
      authenticatorSelection: {
        residentKey: 'required',
        requireResidentKey: true,
        userVerification: 'required',
      },
      attestation: 'none',
    });
    const { body: record } = await register(app, tokens, authenticatorFor(app));
    const second = await creationOptions(app, tokens);
    expect(second.user.id).toBe(first.user.id);
    expect(second.challenge).not.toBe(first.challenge);
    expect(second.excludeCredentials).toEqual([
      { type: 'public-key', id: record.credential_id, transports: ['internal', 'hybrid'] },
    ]);
    expect(await requestOptions(app)).toEqual({
      challenge: expect.stringMatching(/^[\w-]{80}$/),
      timeout: 300_000,
      rpId: 'localhost',
      userVerification: 'required',
    });
  });

  test('issuing a challenge writes nothing; a spent one leaves a row until it is swept', async () => {
    const tokens = await app.login();
    const authenticator = authenticatorFor(app);
    await register(app, tokens, authenticator);
    const before = app.statements.length;
    for (let i = 0; i < 10; i++) await requestOptions(app);
    expect(app.statements.length).toBe(before);
    await creationOptions(app, tokens);
    expect(app.statements.slice(before).filter((text) => !/^select/i.test(text))).toEqual([]);
    expect((await signIn(app, authenticator)).status).toBe(200);
    const spent = () => app.ctx.db.read.run('SELECT id FROM spent_challenges', []);
    expect(await spent()).toHaveLength(2);
    await app.sweep();
    expect(await spent()).toHaveLength(2);
    app.pass(2 * 3600);
    await app.sweep();
    expect(await spent()).toHaveLength(0);
  });

  test('a new passkey has the requested name, or else the product that its AAGUID names', async () => {
    const tokens = await app.login();
    const product = authenticatorFor(app, { aaguid: 'fbfc3007-154e-4ecc-8c0b-6e020557d7bd' });
    expect((await register(app, tokens, product)).body.name).toBe('Apple Passwords');
    expect((await register(app, tokens, product, 'My phone 📱')).body.name).toBe('My phone 📱');
  });

  test('passkeys are listed newest first, and only their owner can rename and remove them', async () => {
    const tokens = await app.login();
    const other = await app.login('eve@example.com');
    const ids: string[] = [];
    for (const name of ['one', 'two', 'three']) {
      ids.unshift((await register(app, tokens, authenticatorFor(app), name)).body.id);
      app.pass(1);
    }
    expect((await listed(app, tokens)).map((record: { id: string }) => record.id)).toEqual(ids);
    expect(await listed(app, other)).toEqual([]);

    const rename = (user: Tokens, id: string, json: unknown) =>
      app.ask('PATCH', `/passkeys/${id}`, { token: user.access_token, json });
    const renamed = await rename(tokens, ids[0]!, { name: 'laptop' });
    expect(renamed.status).toBe(200);
    expect(renamed.body).toEqual((await listed(app, tokens))[0]);
    expect(renamed.body.name).toBe('laptop');
    for (const [field, value] of Object.entries(renamed.body).filter(([name]) => name !== 'name')) {
      const refused = await rename(tokens, ids[0]!, { name: 'lost', [field]: value });
      expect([refused.status, refused.body.error_description]).toEqual([400, `${field}: cannot be changed`]);
    }
    expect((await listed(app, tokens))[0].name).toBe('laptop');
    expect((await rename(other, ids[0]!, { name: 'mine' })).body.error).toBe('not_found');
    expect((await rename(tokens, 'pk_none', { name: 'mine' })).status).toBe(404);

    const remove = (user: Tokens, id: string) =>
      app.ask('DELETE', `/passkeys/${id}`, { token: user.access_token });
    expect((await remove(other, ids[0]!)).status).toBe(404);
    expect((await remove(tokens, ids[0]!)).status).toBe(204);
    expect((await remove(tokens, ids[0]!)).status).toBe(404);
    expect(await listed(app, tokens)).toHaveLength(2);
    expect(await eventsOf(app, 'passkey_added')).toHaveLength(3);
    expect((await eventsOf(app, 'passkey_renamed')).map(({ detail }) => JSON.parse(detail))).toEqual([
      { passkey_id: ids[0], name: 'laptop' },
    ]);
    expect(await eventsOf(app, 'passkey_removed')).toHaveLength(1);
  });

  test('in cookie mode the body has no credential, and the previous session of the browser ends', async () => {
    const tokens = await app.login();
    const authenticator = authenticatorFor(app);
    await register(app, tokens, authenticator);
    const headers = { Origin: app.ctx.config.baseUrl };
    const cookieSignIn = async (cookie?: string) => {
      const json = authenticator.get(await requestOptions(app));
      return app.ask('POST', '/passkey/login?session=cookie', {
        json,
        headers,
        ...(cookie === undefined ? {} : { cookie }),
      });
    };
    const first = await cookieSignIn();
    expect(first.status).toBe(200);
    expect(Object.keys(first.body)).toEqual(['user']);
    expect(first.body.user.email).toBe('ada@example.com');
    const [cookie] = first.headers.get('Set-Cookie')!.split(';');
    expect(first.headers.get('Set-Cookie')).toContain('HttpOnly; SameSite=Lax');
    expect((await app.ask('GET', '/passkeys', { cookie: cookie!, headers })).status).toBe(200);
    expect((await cookieSignIn(cookie)).status).toBe(200);
    expect((await app.ask('GET', '/passkeys', { cookie: cookie!, headers })).status).toBe(401);
    expect((await app.ask('GET', '/passkeys', { token: tokens.access_token })).status).toBe(200);

    const json = authenticator.get(await requestOptions(app));
    const foreign = await app.ask('POST', '/passkey/login?session=cookie', {
      json,
      headers: { Origin: 'https://evil.example' },
    });
    expect([foreign.status, foreign.body.error]).toEqual([403, 'origin_not_allowed']);
  });

  test('each sign-in updates the backup state of a synced passkey', async () => {
    const tokens = await app.login();
    const authenticator = authenticatorFor(app, { flags: flag.up | flag.uv | flag.be });
    const { body } = await register(app, tokens, authenticator);
    expect(body).toMatchObject({ device_type: 'multi_device', backed_up: false });
    const json = authenticator.get(await requestOptions(app), {
      flags: flag.up | flag.uv | flag.be | flag.bs,
    });
    expect((await app.ask('POST', '/passkey/login', { json })).status).toBe(200);
    expect((await listed(app, tokens))[0]).toMatchObject({ device_type: 'multi_device', backed_up: true });
  });

  test('account_disabled is only answered to a verified assertion', async () => {
    const tokens = await app.login();
    const authenticator = authenticatorFor(app);
    await register(app, tokens, authenticator);
    await app.ctx.db.single.run('UPDATE users SET disabled_at = 1', []);
    const options = await requestOptions(app);
    const forged = authenticator.get(options, { signature: new Uint8Array(70) });
    expect((await app.ask('POST', '/passkey/login', { json: forged })).body.error).toBe('invalid_grant');
    const json = authenticator.get(await requestOptions(app));
    const refused = await app.ask('POST', '/passkey/login', { json });
    expect([refused.status, refused.body.error]).toEqual([403, 'account_disabled']);
    await app.ctx.db.single.run('UPDATE users SET disabled_at = NULL', []);
    expect((await app.ask('POST', '/passkey/login', { json })).body.error).toBe('invalid_grant');
    expect((await signIn(app, authenticator)).status).toBe(200);
  });

  test('registering a credential again, to any user, is a conflict and changes nothing', async () => {
    const ada = await app.login();
    const eve = await app.login('eve@example.com');
    const authenticator = authenticatorFor(app);
    const options = await creationOptions(app, ada);
    const response = authenticator.create(options);
    const post = (user: Tokens, json: unknown) =>
      app.ask('POST', '/passkey/register', { token: user.access_token, json });
    expect((await post(ada, response)).status).toBe(201);
    for (const user of [ada, eve]) {
      const again = await creationOptions(app, user);
      const clientData = Buffer.from(
        JSON.stringify({
          type: 'webauthn.create',
          challenge: again.challenge,
          origin: app.ctx.config.baseUrl,
        }),
      );
      const json = {
        ...response,
        response: {
          ...response.response,
          clientDataJSON: clientData.toString('base64url'),
        },
      };
      const answer = await post(user, json);
      expect([answer.status, answer.body.error]).toEqual([409, 'conflict']);
      expect((await post(user, json)).body.error).toBe('invalid_grant');
    }
    expect(await listed(app, ada)).toHaveLength(1);
    expect(await listed(app, eve)).toHaveLength(0);
  });

  test('concurrent registrations never exceed 20 passkeys for one user', async () => {
    const node = await open({ beside: app });
    const tokens = await app.login();
    const authenticator = authenticatorFor(app);
    for (let i = 0; i < 20 - 3; i++) {
      expect((await register(app, tokens, authenticator)).status).toBe(201);
    }
    const responses = await Promise.all(
      Array.from({ length: 10 }, async () => authenticator.create(await creationOptions(app, tokens))),
    );
    const answers = await Promise.all(
      responses.map((json, index) =>
        (index % 2 === 0 ? app : node).ask('POST', '/passkey/register', {
          token: tokens.access_token,
          json,
        }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([
      ...Array.from({ length: 3 }, () => 201),
      ...Array.from({ length: 7 }, () => 409),
    ]);
    expect(await listed(app, tokens)).toHaveLength(20);
  });

  test('a challenge expires after 5 minutes, which browsers get as their timeout', async () => {
    const tokens = await app.login();
    const authenticator = authenticatorFor(app);
    const options = await creationOptions(app, tokens);
    expect(options.timeout).toBe(300_000);
    app.pass(300);
    const late = await app.ask('POST', '/passkey/register', {
      token: tokens.access_token,
      json: authenticator.create(options),
    });
    expect([late.status, late.body.error]).toEqual([400, 'invalid_grant']);
    expect((await app.ask('POST', '/passkey/login/challenge')).body.timeout).toBe(300_000);
  });

  test('deleting an account deletes its passkeys', async () => {
    const authenticator = authenticatorFor(app);
    await register(app, await app.login(), authenticator);
    await app.ctx.db.single.run('DELETE FROM users', []);
    expect((await signIn(app, authenticator)).body.error).toBe('unknown_credential');
  });

  test('allowed origins can use passkeys and are published to browsers', async () => {
    const app = await open({
      settings: {
        LATCHKEY_BASE_URL: 'https://auth.example.com',
        LATCHKEY_RP_ID: 'example.com',
        LATCHKEY_ALLOWED_ORIGINS: 'https://app.example.com',
      },
    });
    const tokens = await app.login();
    const authenticator = authenticatorFor(app, { origin: 'https://app.example.com' });
    expect((await register(app, tokens, authenticator)).status).toBe(201);
    expect((await signIn(app, authenticator)).status).toBe(200);
    expect((await app.ask('GET', '.well-known/webauthn')).body).toEqual({
      origins: ['https://auth.example.com', 'https://app.example.com'],
    });
    expect((await app.ask('GET', '.well-known/passkey-endpoints')).body).toEqual({
      enroll: 'https://auth.example.com/account',
      manage: 'https://auth.example.com/account',
    });
  });

  test('of 32 requests with one assertion on three nodes exactly one signs in', async () => {
    const nodes = [app, await open({ beside: app }), await open({ beside: app })];
    const tokens = await app.login();
    const authenticator = authenticatorFor(app, { counts: true });
    await register(app, tokens, authenticator);
    const json = authenticator.get(await requestOptions(app));
    const answers = await Promise.all(
      Array.from({ length: 32 }, (_, index) =>
        nodes[index % nodes.length]!.ask('POST', '/passkey/login', { json }),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ body }) => body.error === 'invalid_grant')).toHaveLength(31);
    const logins = await eventsOf(app, 'login');
    expect(logins.filter(({ detail }) => JSON.parse(detail).method === 'passkey')).toHaveLength(1);
    expect(await eventsOf(app, 'passkey_clone_suspected')).toHaveLength(0);
    expect((await signIn(nodes[1]!, authenticator)).status).toBe(200);
    for (const node of nodes) await node.close();
  });
});
