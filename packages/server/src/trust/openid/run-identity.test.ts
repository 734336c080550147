import { expect, test } from 'bun:test';
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { newAddress, outcome } from '../../../../../tests/support/account.ts';
import { onBothDatabases, sharedNodes } from '../../../../../tests/support/app.ts';
import { appLogin, redirectUri } from '../../../../../tests/support/authorize.ts';
import { createdKey } from '../../../../../tests/support/keys.ts';
import { exchange, idOf, introspected, startedRun } from '../../../../../tests/support/runs.ts';
import { declareService } from '../../../../../tests/support/services.ts';
import { shared } from '../../../../../tests/support/shared.ts';
import { readConfig } from '../../settings.ts';

const cloud = 'sts.cloud.example';
const tickets = 'https://tickets.example/api';

onBothDatabases('identity tokens of runs', (open, dialect) => {
  const settings = { LATCHKEY_IDENTITY_AUDIENCES: `${cloud}, ${tickets}, https://second.example` };
  const { app, node } = sharedNodes(open, dialect, { settings });
  const service = shared(() =>
    declareService(app.ctx, {
      resource: tickets,
      rights: ['delegate'],
      scopes: [{ name: 'tickets:read', sentence: 'Read your tickets' }],
    }),
  );

  const ask = (token: string, json: object = { audience: cloud }) =>
    node.ask('POST', '/id_token', { token, json });
  const identity = async (token: string) => {
    const answer = await ask(token);
    expect(outcome(answer)).toBe('200');
    return answer.body as { id_token: string; expires_in: number };
  };
  const verified = async (token: string, audience = cloud) => {
    const { body } = await app.ask('GET', '.well-known/jwks.json');
    return jwtVerify(token, createLocalJWKSet(body), {
      audience,
      issuer: app.ctx.config.baseUrl,
      algorithms: ['RS256'],
      currentDate: new Date(app.ctx.clock()),
    });
  };

  test('say whom a run acts for, under a published key', async () => {
    const owner = await app.login(newAddress());
    const { id: userId } = (await app.ask('GET', '/me', { token: owner.access_token })).body;
    const run = await startedRun(app, owner.access_token, { scope: 'profile identity' });
    const { sid, within } = await introspected(app, run.access_token, service.authorization);
    const { id_token, expires_in } = await identity(run.access_token);
    const { payload } = await verified(id_token);
    expect(decodeProtectedHeader(id_token)).toEqual({ alg: 'RS256', typ: 'JWT', kid: expect.any(String) });
    expect(payload).toEqual({
      iss: app.ctx.config.baseUrl,
      sub: `run:${userId}`,
      aud: cloud,
      jti: expect.any(String),
      iat: expect.any(Number),
      exp: payload.iat! + expires_in,
      within,
      scope: 'profile identity',
    });
    expect(expires_in).toBeWithin(890, 901);
    expect([sid, within]).toEqual([expect.any(String), [expect.any(String)]]);
    expect((await verified((await identity(run.access_token)).id_token)).payload.jti).not.toBe(payload.jti!);
  });

  test('name the services that act in the run', async () => {
    const owner = await app.login(newAddress());
    const { id: userId } = (await app.ask('GET', '/me', { token: owner.access_token })).body;
    const run = await startedRun(app, owner.access_token, { scope: 'identity', by: service.authorization });
    const { payload } = await verified((await identity(run.access_token)).id_token);
    expect(payload).toMatchObject({ sub: `run:${userId}:${service.id}`, act: { sub: service.id } });
  });

  test('end with the run at the latest', async () => {
    const owner = await app.login(newAddress());
    const run = await startedRun(app, owner.access_token, { scope: 'identity', expires_in: '300' });
    app.pass(100);
    expect((await identity(run.access_token)).expires_in).toBeWithin(195, 201);
    const inner = await startedRun(app, run.access_token, { scope: 'identity' });
    expect((await identity(inner.access_token)).expires_in).toBeWithin(195, 201);
    await app.ask('POST', '/revoke', { token: owner.access_token });
    expect(outcome(await ask(inner.access_token))).toBe('401 invalid_token');
  });

  test('are for runs whose scope names identity, and nothing else', async () => {
    const owner = await app.login(newAddress());
    const device = await app.deviceLogin(owner, { scope: 'identity' });
    const named = await createdKey(app, owner, { scope: 'identity' });
    const bound = await startedRun(app, owner.access_token, { scope: 'identity', resource: tickets });
    const other = await startedRun(app, owner.access_token, { scope: 'profile' });
    for (const token of [
      owner.access_token,
      device.access_token,
      named.key,
      bound.access_token,
      other.access_token,
    ])
      expect(outcome(await ask(token))).toBe('403 insufficient_scope');
    for (const token of [device.access_token, named.key])
      await identity((await startedRun(app, token, { scope: 'identity' })).access_token);
  });

  test('are within everything of a login, but not of a key, which has to name identity', async () => {
    const owner = await app.login(newAddress());
    const device = await app.deviceLogin(owner);
    const key = await createdKey(app, owner, { scope: '*' });
    expect(outcome(await exchange(app, device.access_token, { scope: 'identity' }))).toBe('200');
    expect(outcome(await exchange(app, key.key, { scope: 'identity' }))).toBe('400 invalid_scope');
    expect(outcome(await exchange(app, key.key, { scope: 'profile' }))).toBe('200');
    const naming = await createdKey(app, owner, { scope: '* identity' });
    expect(outcome(await exchange(app, naming.key, { scope: 'identity' }))).toBe('200');
    const run = await startedRun(app, owner.access_token, { scope: 'profile' });
    expect(outcome(await exchange(app, run.access_token, { scope: 'identity' }))).toBe('400 invalid_scope');
  });

  test.each<[string, object, string]>([
    ['another audience', { audience: 'other' }, '400 invalid_target'],
    ['a listed one in another case', { audience: cloud.toUpperCase() }, '400 invalid_target'],
    ['a listed one with more', { audience: `${cloud}/` }, '400 invalid_target'],
    ['all of them', { audience: '*' }, '400 invalid_target'],
    ['a service, although listed', { audience: tickets }, '400 invalid_target'],
    ['nobody', {}, '400 invalid_request'],
    ['an empty audience', { audience: '' }, '400 invalid_request'],
    ['two', { audience: [cloud] }, '400 invalid_request'],
    ['2,049 characters', { audience: 'x'.repeat(2049) }, '400 invalid_request'],
  ])('are not for %s', async (_, json, expected) => {
    const owner = await app.login(newAddress());
    const { access_token } = await startedRun(app, owner.access_token, { scope: 'identity' });
    expect(outcome(await ask(access_token, json))).toBe(expected);
  });

  test('are worth nothing here, and nothing to services', async () => {
    const owner = await app.login(newAddress());
    const run = await startedRun(app, owner.access_token, { scope: 'identity' });
    const { id_token: token } = await identity(run.access_token);
    expect(outcome(await app.ask('GET', '/me', { token }))).toBe('401 invalid_token');
    expect(outcome(await exchange(app, token))).toBe('400 invalid_request');
    expect(await introspected(app, token, service.authorization)).toEqual({ active: false });
    expect(outcome(await app.ask('POST', '/refresh', { json: { refresh_token: token } }))).toBe(
      '400 invalid_grant',
    );
    expect(await idOf(app, run.access_token, service.authorization)).toEqual(expect.any(String));
    const hint = await app.ask('GET', `sign-out?id_token_hint=${token}`);
    expect(hint.status).toBe(400);
  });

  test('and those of applications are worth nothing in the place of each other', async () => {
    const owner = await app.login(newAddress());
    const application = await declareService(app.ctx, { name: 'Charts', redirectUris: [redirectUri] });
    const signedIn = await appLogin(app, owner, application, { scope: 'openid' });
    const run = await startedRun(app, owner.access_token, { scope: 'identity' });
    const [ofApp, ofRun] = [signedIn.id_token ?? '', (await identity(run.access_token)).id_token];
    expect((await verified(ofApp, application.id)).payload.sub).toStartWith('usr_');
    expect((await verified(ofRun)).payload.sub).toStartWith('run:usr_');
    await expect(verified(ofRun, application.id)).rejects.toThrow('"aud"');
    await expect(verified(ofApp)).rejects.toThrow('"aud"');
    expect(outcome(await ask(ofApp))).toBe('401 invalid_token');
    expect(outcome(await ask(run.access_token, { audience: application.id }))).toBe('400 invalid_target');
    for (const token of [ofApp, ofRun])
      expect(outcome(await app.ask('GET', '/userinfo', { token }))).toBe('401 invalid_token');
  });

  test('and their scope is never listed', async () => {
    const owner = await app.login(newAddress());
    const { body } = await app.ask('GET', '/scopes', { token: owner.access_token });
    expect(body.scopes.map(({ name }: { name: string }) => name)).not.toContain('identity');
    const metadata = await app.ask('GET', '.well-known/openid-configuration');
    expect(metadata.body.scopes_supported).not.toContain('identity');
  });
});

test('audiences are whole strings, and neither this service nor another', () => {
  const audiences = (LATCHKEY_IDENTITY_AUDIENCES: string) =>
    readConfig({ LATCHKEY_IDENTITY_AUDIENCES, LATCHKEY_BASE_URL: 'https://login.example.com' })
      .identityAudiences;
  expect(audiences('sts.cloud.example, //iam.example/projects/1')).toEqual([
    'sts.cloud.example',
    '//iam.example/projects/1',
  ]);
  expect(audiences('')).toEqual([]);
  for (const wrong of [
    'https://login.example.com',
    'https://login.example.com/',
    'svc_1',
    'a b',
    'x'.repeat(2049),
  ])
    expect(() => audiences(wrong)).toThrow('LATCHKEY_IDENTITY_AUDIENCES must');
});
