import { beforeAll, beforeEach, expect, test } from 'bun:test';
import { disown, isLive, mailsTo, newAddress, outcome, subjects } from '#support/account.ts';
import { type Ask, onBothDatabases, type Tokens } from '#support/app.ts';
import {
  appLogin,
  asBrowser,
  codeFor,
  commandLineRequest,
  redeem,
  redirectUri,
  requestOf,
  verifier,
} from '#support/authorize.ts';
import { loggedEvents } from '#support/security-log.ts';
import { changeService, declareService, type TestService } from '#support/services.ts';
import { shared } from '#support/shared.ts';
import type { Database } from '../../platform/database/executor.ts';
import { temporarilyUnavailable } from '../../platform/errors.ts';
import { revokeService } from '../../sessions/ending.ts';

const refused = '400 invalid_grant';

onBothDatabases('the authorization code grant', (open) => {
  const app = shared(open);
  let service: TestService;
  let publicClient: TestService;
  const asPublic = { client_id: '' };
  let tokens: Tokens;
  beforeAll(async () => {
    const redirectUris = [redirectUri];
    service = await declareService(app.ctx, { name: 'Charts', redirectUris });
    publicClient = await declareService(app.ctx, { name: 'Notes', redirectUris, isPublic: true });
    asPublic.client_id = publicClient.id;
  });
  // Tests pass time, and only a recent sign-in approves.
  beforeEach(async () => {
    tokens = await app.login();
  });

  const asService = (authorization = service.authorization) => ({
    headers: { Authorization: authorization },
  });
  const newCode = (changed = {}) => codeFor(app, tokens, requestOf(service.id, changed));
  const publicCode = (changed = {}) => codeFor(app, tokens, requestOf(publicClient.id, changed));
  test('a service with its key, in the header or the form, gets tokens with the scope that was approved; its id, and the redirect URI that the request left out, may be left out', async () => {
    const { id: client_id, secret: client_secret } = service;
    const codeWithoutUri = () => newCode({ redirect_uri: undefined });
    for (const answer of [
      await redeem(app, await newCode(), { client_id, client_secret }),
      await redeem(app, await newCode(), { client_id }, asService()),
      await redeem(app, await codeWithoutUri(), { redirect_uri: undefined }, asService()),
      await redeem(app, await codeWithoutUri(), {}, asService()),
    ])
      expect(outcome(answer)).toBe('200');
    const answer = await redeem(app, await newCode(), {}, asService());
    expect(answer.status).toBe(200);
    const { access_token: token, refresh_token, ...rest } = answer.body;
    expect(rest).toEqual({ expires_in: 14_400, scope: 'profile', token_type: 'Bearer' });
    expect(refresh_token).toStartWith('lk_rt_');
    const me = await app.ask('GET', '/me', { token });
    expect([me.body.name, me.body.email]).toEqual(['ada', undefined]);
  });

  test('header and form that contradict each other are invalid_request, and a wrong key is invalid_client; neither spends the code', async () => {
    const code = await newCode();
    const { id: client_id, secret: client_secret } = service;
    const wrong = `${client_secret.slice(0, -4)}AAAA`;
    const other = publicClient.id;
    const answers = [
      await redeem(app, code, { client_id, client_secret }, asService()),
      await redeem(app, code, { client_secret }),
      await redeem(app, code, { client_id: other }, asService()),
      await redeem(app, code, { client_id, client_secret: wrong }),
      await redeem(app, code, { client_id }),
      await redeem(app, code, {}, asService(`Basic ${btoa(`${client_id}:${wrong}`)}`)),
      await redeem(app, code, {}),
      await redeem(app, code, { code_verifier: undefined }, asService()),
      await redeem(app, code, { redirect_uri: undefined }, asService()),
      await redeem(app, code, { resource: 'https://nobody.example' }, asService()),
      await app.ask('POST', '/token', {
        ...asService(),
        form: `grant_type=authorization_code&code=${code}&code=${code}&code_verifier=${verifier}`,
      }),
    ];
    expect(answers.map(outcome)).toEqual([
      ...Array(3).fill('400 invalid_request'),
      ...['400 invalid_client', '400 invalid_client', '401 invalid_client'],
      ...Array(3).fill('400 invalid_request'),
      ...['400 invalid_target', '400 invalid_request'],
    ]);
    expect((await redeem(app, code, {}, asService())).status).toBe(200);
  });

  test('a wrong client, verifier or redirect URI is invalid_grant and spends the code', async () => {
    const { authorization: foreign } = await declareService(app.ctx);
    const wrong: [changed: Record<string, string>, by: Ask][] = [
      [{}, asService(foreign)],
      [asPublic, {}],
      [{ client_id: 'https://nobody.example/client' }, {}],
      [{ code_verifier: verifier.replace('d', 'e') }, asService()],
      [{ code_verifier: 'x' }, asService()],
      [{ code_verifier: 'x'.repeat(2_000) }, asService()],
      [{ redirect_uri: `${redirectUri}/` }, asService()],
    ];
    for (const [changed, by] of wrong) {
      const code = await newCode();
      const answers = [await redeem(app, code, changed, by), await redeem(app, code, {}, asService())];
      expect([changed, ...answers.map(outcome)]).toEqual([changed, refused, refused]);
    }
  });

  test('a code is good for 60 seconds, and neither cut, extended nor in the place of another token', async () => {
    const [late, code] = [await publicCode(), await publicCode()];
    for (const forged of [code.slice(0, -1), `${code}x`, tokens.access_token])
      expect(outcome(await redeem(app, forged, asPublic))).toBe(refused);
    app.pass(59);
    expect((await redeem(app, code, asPublic)).status).toBe(200);
    app.pass(1);
    expect(outcome(await redeem(app, late, asPublic))).toBe(refused);
  });

  const once = { headers: { 'Idempotency-Key': 'once' } };
  const replays: Record<string, (code: string) => ReturnType<typeof redeem>> = {
    'with a wrong verifier': (code) => redeem(app, code, { ...asPublic, code_verifier: 'wrong' }),
    'without a verifier': (code) => redeem(app, code, { ...asPublic, code_verifier: undefined }),
    'by another client': (code) => redeem(app, code, {}, asService()),
    'with the code twice': (code) =>
      app.ask('POST', '/token', { form: `grant_type=authorization_code&code=${code}&code=${code}` }),
    'with a parameter that is too long': (code) =>
      redeem(app, code, { ...asPublic, redirect_uri: 'x'.repeat(9_000) }),
    'with the idempotency key of the first, but another verifier': (code) =>
      redeem(app, code, { ...asPublic, code_verifier: 'other' }, once),
    'with a wrong idempotency key': (code) =>
      redeem(app, code, asPublic, { headers: { 'Idempotency-Key': '' } }),
    'with two keys': (code) => redeem(app, code, { ...asPublic, client_secret: 'x' }, asService()),
    'for another resource': (code) => redeem(app, code, { ...asPublic, resource: 'https://x.example' }),
    'as JSON': (code) => app.ask('POST', '/token', { json: { code } }),
    'as JSON beside a device code': (code) =>
      app.ask('POST', '/token', { json: { device_code: 'lk_dc_', code } }),
    'as JSON, twice, the first time with escapes': (code) =>
      app.ask('POST', '/refresh', {
        raw: `{"c\\u006fde":"\\u006C${code.slice(1)}","code":"other"}`,
        headers: { 'Content-Type': 'application/json' },
      }),
    'as a refresh token': (code) =>
      app.ask('POST', '/refresh', { form: { grant_type: 'refresh_token', refresh_token: 'lk_rt_', code } }),
    'in a form without a grant': (code) => app.ask('POST', '/refresh', { form: { code } }),
    'with an unknown grant': (code) => app.ask('POST', '/token', { form: { grant_type: 'password', code } }),
    'after ten minutes less a second': (code) => {
      app.pass(599);
      return redeem(app, code, asPublic);
    },
  };
  test.each(Object.entries(replays))('a second use %s ends the session', async (_, replay) => {
    const code = await publicCode();
    const { body } = await redeem(app, code, asPublic, once);
    expect(await isLive(app, body)).toBe(true);
    expect((await replay(code)).status).toBe(400);
    expect(await isLive(app, body)).toBe(false);
    const json = { refresh_token: body.refresh_token, ...asPublic };
    expect(outcome(await app.ask('POST', '/refresh', { json }))).toBe(refused);
  });

  test('a second use in a request that succeeds otherwise ends the session, with an event and a notice', async () => {
    // An account of its own: many notices in an hour become a digest.
    const owner = await app.login('owner@example.com');
    const code = await codeFor(app, owner, requestOf(publicClient.id));
    const { body } = await redeem(app, code, asPublic);
    const { refresh_token } = await app.login('somebody-else@example.com');
    const form = { grant_type: 'refresh_token', refresh_token, code };
    expect((await app.ask('POST', '/refresh', { form })).status).toBe(200);
    expect(await isLive(app, body)).toBe(false);
    expect(await loggedEvents(app, owner, 'code_replayed')).toHaveLength(1);
    expect(await mailsTo(app, 'owner@example.com', subjects.theft)).toHaveLength(1);
  });

  test('a second use after ten minutes ends nothing', async () => {
    const code = await publicCode();
    const { body } = await redeem(app, code, asPublic);
    app.pass(601);
    expect(outcome(await redeem(app, code, asPublic))).toBe(refused);
    expect(await isLive(app, body)).toBe(true);
  });

  test('the same request with the same idempotency key gets the same tokens for 60 seconds, and afterwards ends the session', async () => {
    const code = await publicCode();
    const answers = await Promise.all([1, 2, 3].map(() => redeem(app, code, asPublic, once)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const [first, ...others] = answers.map(({ body }) => body.refresh_token);
    expect(others).toEqual([first, first]);
    app.pass(59);
    expect((await redeem(app, code, asPublic, once)).body.refresh_token).toBe(first);
    expect(await isLive(app, answers[0]!.body)).toBe(true);
    app.pass(2);
    expect(outcome(await redeem(app, code, asPublic, once))).toBe(refused);
    expect(await isLive(app, answers[0]!.body)).toBe(false);
  });

  test('a redemption whose answer is lost after its commit is no second use, and its repetition gets the tokens', async () => {
    const code = await publicCode();
    const db = app.ctx.db as { transaction: Database['transaction'] };
    const { transaction } = db;
    db.transaction = async (work) => {
      db.transaction = transaction;
      await transaction(work);
      throw temporarilyUnavailable();
    };
    expect(outcome(await redeem(app, code, asPublic, once))).toBe('503 temporarily_unavailable');
    expect(await isLive(app, (await redeem(app, code, asPublic, once)).body)).toBe(true);
  });

  // What ends all sessions of an account: tests/invariants/operations.test.ts.
  test.each<[string, (approver: Tokens) => Promise<unknown>]>([
    ['signing out', ({ access_token: token }) => app.ask('DELETE', '/logout?scope=session', { token })],
    [
      'a theft',
      async ({ refresh_token }) => {
        const refresh = () => app.ask('POST', '/refresh', { json: { refresh_token } });
        await refresh();
        app.pass(11);
        expect(outcome(await refresh())).toBe(refused);
      },
    ],
  ])('%s, as the approver, makes the code worthless', async (_, end) => {
    const approver = await app.login(newAddress());
    const code = await codeFor(app, approver, requestOf(publicClient.id));
    await end(approver);
    expect(outcome(await redeem(app, code, asPublic))).toBe(refused);
  });

  test('revoking a code spends it, and not the session of a redeemed one', async () => {
    const [unused, used] = [await newCode(), await newCode()];
    const { body } = await redeem(app, used, {}, asService());
    for (const token of [unused, used])
      expect((await app.ask('POST', '/revoke', { form: { token } })).status).toBe(200);
    expect(outcome(await redeem(app, unused, {}, asService()))).toBe(refused);
    expect(await isLive(app, body)).toBe(true);
  });

  test('a scope that is no longer declared voids the code, and so does the end of its client', async () => {
    const scopes = [{ name: 'notes:read', sentence: 'Read notes' }];
    const former = await declareService(app.ctx, { scopes, redirectUris: [redirectUri], isPublic: true });
    const code = await newCode({ scope: 'notes:read' });
    const own = await codeFor(app, tokens, requestOf(former.id));
    for (const declared of [[], scopes]) {
      await changeService(app.ctx, former.id, { scopes: declared });
      expect(outcome(await redeem(app, code, {}, asService()))).toBe(refused);
    }
    await revokeService(app.ctx, former.id);
    expect(outcome(await redeem(app, own, { client_id: former.id }))).toBe(refused);
  });

  test('an application gets a session of kind app with its client, the command line one of kind device with everything; each is announced, and disowned by its notice', async () => {
    const email = newAddress();
    const owner = await app.login(email);
    const request = commandLineRequest();
    const { client_id, redirect_uri } = request;
    const code = await codeFor(app, owner, request);
    const { body } = await redeem(app, code, { client_id, redirect_uri });
    const application = await appLogin(app, owner, service);
    const { sessions } = (await app.ask('GET', '/sessions', { token: body.access_token })).body;
    const method = 'browser_code';
    expect(sessions).toMatchObject([
      { kind: 'app', method, client_name: 'Charts', client_id: service.id, scope: 'profile', current: false },
      { kind: 'device', method, client_name: 'Latchkey CLI', device_name: 'den', scope: '*', current: true },
      { kind: 'browser' },
    ]);
    expect(sessions[2].client_id).toBeUndefined();
    const refreshed = await app.ask('POST', '/refresh', { json: { refresh_token: body.refresh_token } });
    expect(refreshed.status).toBe(200);
    expect(await mailsTo(app, email, subjects.newDevice)).toHaveLength(1);
    expect(outcome(await disown(app, email, subjects.newApp))).toBe('200');
    expect(await isLive(app, application)).toBe(false);
  });

  test('nothing of an application is a recent sign-in, and it approves nothing', async () => {
    const trusted = await declareService(app.ctx, { redirectUris: [redirectUri], isTrusted: true });
    const code = await codeFor(app, tokens, requestOf(trusted.id, { scope: '*' }));
    const { body } = await redeem(app, code, {}, asService(trusted.authorization));
    const key = { name: 'key', scope: '*', expires_in: 3600 };
    const created = await app.ask('POST', '/keys', { token: body.access_token, json: key });
    const approved = await asBrowser(app, body, 'approve', { ...requestOf(trusted.id), scope: '*' });
    for (const answer of [created, approved])
      expect(outcome(answer)).toBe('401 insufficient_user_authentication');
  });
});
