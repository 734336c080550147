import { expect, test } from 'bun:test';
import {
  addPasskey,
  creationOptions,
  newAuthenticator,
  outcome,
  passkeyLogin,
  postRegistration,
  postSignIn,
  requestOptions,
} from '#support/account.ts';
import { onBothDatabases, type TestApp, type Tokens } from '#support/app.ts';
import { type Algorithm, type Authenticator, base64url } from '#support/authenticator.ts';
import { loggedEvents } from '#support/security-log.ts';
import { fresh } from '#support/shared.ts';

const algorithms: readonly Algorithm[] = ['ES256', 'EdDSA', 'RS256'];

/** Registers a passkey without a name. */
const register = async (app: TestApp, tokens: Tokens, authenticator: Authenticator) =>
  postRegistration(app, tokens, authenticator.create(await creationOptions(app, tokens)));

const listed = async (app: TestApp, tokens: Tokens) =>
  (await app.ask('GET', '/passkeys', { token: tokens.access_token })).body.passkeys;

onBothDatabases('passkeys', (open) => {
  const app = fresh(open);

  test.each(algorithms)('a user registers a passkey with %s and signs in with it', async (algorithm) => {
    const tokens = await app.login();
    const authenticator = newAuthenticator(app, { algorithm });
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
    const { body } = await passkeyLogin(app, authenticator);
    const { access_token: token } = body;
    expect(Object.keys(body).sort()).toEqual(['access_token', 'expires_in', 'refresh_token', 'token_type']);
    expect((await app.ask('GET', '/me', { token })).body.email).toBe('ada@example.com');
    const [used] = await listed(app, tokens);
    expect(Date.parse(used.last_used_at) - Date.parse(used.created_at)).toBeGreaterThanOrEqual(60_000);
    const { sessions } = (await app.ask('GET', '/sessions', { token })).body;
    expect(sessions[0]).toMatchObject({ method: 'passkey', kind: 'browser', current: true });
  });

  test('the members of a ceremony may be base64 or base64url, padded or not, without rawId; the answers are base64url', async () => {
    const tokens = await app.login();
    const padded = (text: string) => text.padEnd(Math.ceil(text.length / 4) * 4, '=');
    const standard = (text: string) => text.replaceAll('-', '+').replaceAll('_', '/');
    for (const spell of [padded, standard, (text: string) => padded(standard(text))]) {
      const authenticator = newAuthenticator(app);
      const respelled = ({ rawId, ...json }: ReturnType<Authenticator['create' | 'get']>) =>
        JSON.parse(
          JSON.stringify(spell === standard ? { ...json, rawId } : json, (name, value) =>
            typeof value === 'string' && !/^(type|authenticatorAttachment|\d)$/.test(name)
              ? spell(value)
              : value,
          ),
        );
      const created = authenticator.create(await creationOptions(app, tokens));
      const { status, body } = await postRegistration(app, tokens, respelled(created));
      expect([status, body.credential_id]).toEqual([201, created.id]);
      const assertion = async (forgery = {}) => authenticator.get(await requestOptions(app), forgery);
      for (const json of [respelled(await assertion()), await assertion({ id: `${created.id}=` })])
        expect((await postSignIn(app, json)).status).toBe(200);
    }
  });

  test('the options follow WebAuthn Level 3, and the user handle is one random value per account', async () => {
    const tokens = await app.login();
    const first = await creationOptions(app, tokens);
    expect<object>(first).toEqual({
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
    const { body: record } = await register(app, tokens, newAuthenticator(app));
    const second = await creationOptions(app, tokens);
    expect(second.user.id).toBe(first.user.id);
    expect(second.challenge).not.toBe(first.challenge);
    expect(second).toHaveProperty('excludeCredentials', [
      { type: 'public-key', id: record.credential_id, transports: ['internal', 'hybrid'] },
    ]);
    expect<object>(await requestOptions(app)).toEqual({
      challenge: expect.stringMatching(/^[\w-]{80}$/),
      timeout: 300_000,
      rpId: 'localhost',
      userVerification: 'required',
    });
  });

  test('issuing a challenge writes nothing; a spent one leaves a row until it is swept', async () => {
    const tokens = await app.login();
    const authenticator = newAuthenticator(app);
    await register(app, tokens, authenticator);
    const before = app.statements.length;
    for (let i = 0; i < 10; i++) await requestOptions(app);
    expect(app.statements.length).toBe(before);
    await creationOptions(app, tokens);
    expect(app.statements.slice(before).filter((text) => !/^select/i.test(text))).toEqual([]);
    expect((await passkeyLogin(app, authenticator)).status).toBe(200);
    const spent = () => app.ctx.db.read.run('SELECT id FROM spent_challenges', []);
    expect(await spent()).toHaveLength(2);
    await app.sweep();
    expect(await spent()).toHaveLength(2);
    app.pass(2 * 3600);
    await app.sweep();
    expect(await spent()).toHaveLength(0);
  });

  test('passkeys have the requested name, or else the product that their AAGUID names; they are listed newest first, renamed and removed once', async () => {
    const tokens = await app.login();
    const other = await app.login('eve@example.com');
    const ids: string[] = [];
    const product = newAuthenticator(app, { aaguid: 'fbfc3007-154e-4ecc-8c0b-6e020557d7bd' });
    for (const name of ['one', 'My phone 📱']) {
      const { body } = await addPasskey(app, tokens, product, name);
      expect(body.name).toBe(name);
      ids.unshift(body.id);
      app.pass(1);
    }
    const { body: unnamed } = await register(app, tokens, product);
    expect(unnamed.name).toBe('Apple Passwords');
    ids.unshift(unnamed.id);
    expect((await listed(app, tokens)).map((record: { id: string }) => record.id)).toEqual(ids);
    expect(await listed(app, other)).toEqual([]);

    const { access_token: token } = tokens;
    const rename = (json: unknown) => app.ask('PATCH', `/passkeys/${ids[0]}`, { token, json });
    const renamed = await rename({ name: 'laptop' });
    expect(renamed.status).toBe(200);
    expect(renamed.body).toEqual((await listed(app, tokens))[0]);
    expect(renamed.body.name).toBe('laptop');
    for (const [field, value] of Object.entries(renamed.body).filter(([name]) => name !== 'name')) {
      const { body } = await rename({ name: 'lost', [field]: value });
      expect(body.error_description).toBe(`${field}: cannot be changed`);
    }
    expect((await listed(app, tokens))[0].name).toBe('laptop');

    for (const status of [204, 404])
      expect((await app.ask('DELETE', `/passkeys/${ids[0]}`, { token })).status).toBe(status);
    expect(await listed(app, tokens)).toHaveLength(2);
    const log = (await loggedEvents(app, tokens)).filter(({ type }) => type.startsWith('passkey_'));
    const types = ['passkey_removed', 'passkey_renamed', ...Array(3).fill('passkey_added')];
    expect(log.map(({ type }) => type)).toEqual(types);
    expect(log[1]!.detail).toEqual({ passkey_id: ids[0], name: 'laptop' });
  });

  test('account_disabled is only answered to a verified assertion', async () => {
    const tokens = await app.login();
    const authenticator = newAuthenticator(app);
    await register(app, tokens, authenticator);
    await app.ctx.db.single.run('UPDATE users SET disabled_at = 1', []);
    const forged = authenticator.get(await requestOptions(app), { signature: new Uint8Array(70) });
    expect(outcome(await postSignIn(app, forged))).toBe('400 invalid_grant');
    const json = authenticator.get(await requestOptions(app));
    expect(outcome(await postSignIn(app, json))).toBe('403 account_disabled');
    await app.ctx.db.single.run('UPDATE users SET disabled_at = NULL', []);
    expect(outcome(await postSignIn(app, json))).toBe('400 invalid_grant');
    expect((await passkeyLogin(app, authenticator)).status).toBe(200);
  });

  test('registering a credential again, to any user, is a conflict and changes nothing', async () => {
    const ada = await app.login();
    const eve = await app.login('eve@example.com');
    const created = newAuthenticator(app).create(await creationOptions(app, ada));
    expect((await postRegistration(app, ada, created)).status).toBe(201);
    for (const user of [ada, eve]) {
      const { challenge } = await creationOptions(app, user);
      const clientData = { type: 'webauthn.create', challenge, origin: app.ctx.config.baseUrl };
      const clientDataJSON = base64url(JSON.stringify(clientData));
      const again = { ...created, response: { ...created.response, clientDataJSON } };
      expect(outcome(await postRegistration(app, user, again))).toBe('409 conflict');
      expect(outcome(await postRegistration(app, user, again))).toBe('400 invalid_grant');
    }
    expect([(await listed(app, ada)).length, (await listed(app, eve)).length]).toEqual([1, 0]);
  });

  test('concurrent registrations never exceed 20 passkeys for one user', async () => {
    const node = await open({ beside: app });
    const tokens = await app.login();
    const authenticator = newAuthenticator(app);
    for (let i = 0; i < 20 - 3; i++) expect((await register(app, tokens, authenticator)).status).toBe(201);
    const responses = [];
    for (let i = 0; i < 10; i++) responses.push(authenticator.create(await creationOptions(app, tokens)));
    const answers = await Promise.all(
      responses.map((json, index) => postRegistration(index % 2 === 0 ? app : node, tokens, json)),
    );
    const statuses = answers.map(({ status }) => status).toSorted();
    expect(statuses).toEqual([...Array(3).fill(201), ...Array(7).fill(409)]);
    expect(await listed(app, tokens)).toHaveLength(20);
  });

  test('allowed origins can use passkeys, under the name of the product, and are published to browsers', async () => {
    const name = '<script>alert(1)</script>';
    const app = await open({
      settings: {
        LATCHKEY_BASE_URL: 'https://auth.example.com',
        LATCHKEY_RP_ID: 'example.com',
        LATCHKEY_ALLOWED_ORIGINS: 'https://app.example.com',
        LATCHKEY_PRODUCT_NAME: name,
      },
    });
    const tokens = await app.login();
    expect<object>((await creationOptions(app, tokens)).rp).toEqual({ id: 'example.com', name });
    const authenticator = newAuthenticator(app, { origin: 'https://app.example.com' });
    expect((await register(app, tokens, authenticator)).status).toBe(201);
    expect((await passkeyLogin(app, authenticator)).status).toBe(200);
    expect((await app.ask('GET', '.well-known/webauthn')).body).toEqual({
      origins: ['https://auth.example.com', 'https://app.example.com'],
    });
    expect((await app.ask('GET', '.well-known/passkey-endpoints')).body).toEqual({
      enroll: 'https://auth.example.com/account',
      manage: 'https://auth.example.com/account',
    });
  });
});
