import { expect, test } from 'bun:test';
import { decodeProtectedHeader } from 'jose';
import { newAddress, outcome } from '#support/account.ts';
import { onBothDatabases, sharedNodes, type Tokens } from '#support/app.ts';
import { appLogin, redirectUri } from '#support/authorize.ts';
import { verifiedJwt } from '#support/jwt.ts';
import { createdKey } from '#support/keys.ts';
import { exchange, introspected, startedRun } from '#support/runs.ts';
import { declareService, ticketsDeclared } from '#support/services.ts';
import { shared } from '#support/shared.ts';
import { readConfig } from '../../settings.ts';

const cloud = 'sts.cloud.example';
const { resource: tickets } = ticketsDeclared;

onBothDatabases('identity tokens of runs', (open, dialect) => {
  const settings = { LATCHKEY_IDENTITY_AUDIENCES: `${cloud}, ${tickets}, https://second.example` };
  const { app, node } = sharedNodes(open, dialect, { settings });
  const service = shared(() => declareService(app.ctx, { ...ticketsDeclared, rights: ['delegate'] }));

  const newRun = async (wants: object, owner?: Tokens) =>
    startedRun(app, (owner ?? (await app.login(newAddress()))).access_token, { scope: 'identity', ...wants });
  const ask = (token: string, json: object = { audience: cloud }) =>
    node.ask('POST', '/id_token', { token, json });
  const identity = async (token: string) => {
    const answer = await ask(token);
    expect(outcome(answer)).toBe('200');
    return answer.body as { id_token: string; expires_in: number };
  };
  const verified = (token: string, audience = cloud) =>
    verifiedJwt(app, token, audience, { algorithms: ['RS256'] });

  test('say whom a run acts for, and which service acts in it, under a published key', async () => {
    const owner = await app.login(newAddress());
    const { id: userId } = (await app.ask('GET', '/me', { token: owner.access_token })).body;
    const run = await newRun({ scope: 'profile identity' }, owner);
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
    // With the service that acts in the run.
    const acted = await newRun({ by: service.authorization }, owner);
    const { payload: byService } = await verified((await identity(acted.access_token)).id_token);
    expect(byService).toMatchObject({ sub: `run:${userId}:${service.id}`, act: { sub: service.id } });
  });

  test('end with the run at the latest', async () => {
    const owner = await app.login(newAddress());
    const run = await newRun({ expires_in: '300' }, owner);
    app.pass(100);
    const inner = await newRun({}, run);
    for (const { access_token } of [run, inner])
      expect((await identity(access_token)).expires_in).toBeWithin(195, 201);
    await app.ask('POST', '/revoke', { token: owner.access_token });
    expect(outcome(await ask(inner.access_token))).toBe('401 invalid_token');
  });

  test('are for runs whose scope names identity, which a login holds with everything, and a key only by name', async () => {
    const owner = await app.login(newAddress());
    const { access_token: named } = await app.deviceLogin(owner, { scope: 'identity' });
    const { access_token: device } = await app.deviceLogin(owner);
    const key = async (scope: string) => (await createdKey(app, owner, { scope })).key;
    const run = async (wants: object) => (await newRun(wants, owner)).access_token;
    const runs = [await run({ scope: 'profile' }), await run({ resource: tickets })] as const;
    for (const [token, expected] of [
      [named, '200'],
      [device, '200'],
      [await key('identity'), '200'],
      [await key('* identity'), '200'],
      [await key('*'), '400 invalid_scope'],
      [runs[0], '400 invalid_scope'],
    ] as const) {
      expect(outcome(await ask(token))).toBe('403 insufficient_scope');
      const made = await exchange(app, token, { scope: 'identity' });
      expect(outcome(made)).toBe(expected);
      if (made.status === 200) await identity(made.body.access_token);
    }
    expect(outcome(await ask(runs[1]))).toBe('403 insufficient_scope');
  });

  test('are for listed audiences alone, as they are spelled, and for no service', async () => {
    const { access_token } = await newRun({});
    for (const [json, expected] of [
      ...['other', cloud.toUpperCase(), `${cloud}/`, '*', tickets, service.id].map(
        (audience) => [{ audience }, '400 invalid_target'] as const,
      ),
      [{}, '400 invalid_request'],
      ...['', [cloud], 'x'.repeat(2049)].map((audience) => [{ audience }, '400 invalid_request'] as const),
    ] as const)
      expect([json, outcome(await ask(access_token, json))]).toEqual([json, expected]);
  });

  test('and those of applications are worth nothing here, to services, and in the place of each other', async () => {
    const owner = await app.login(newAddress());
    const application = await declareService(app.ctx, { name: 'Charts', redirectUris: [redirectUri] });
    const { id_token: ofApp = '' } = await appLogin(app, owner, application, { scope: 'openid' });
    const { id_token: ofRun } = await identity((await newRun({}, owner)).access_token);
    expect((await verified(ofApp, application.id)).payload.sub).toStartWith('usr_');
    expect((await verified(ofRun)).payload.sub).toStartWith('run:usr_');
    await expect(verified(ofRun, application.id)).rejects.toThrow('"aud"');
    await expect(verified(ofApp)).rejects.toThrow('"aud"');
    for (const token of [ofApp, ofRun]) {
      for (const path of ['/me', '/userinfo'])
        expect(outcome(await app.ask('GET', path, { token }))).toBe('401 invalid_token');
      expect(outcome(await ask(token))).toBe('401 invalid_token');
      expect(outcome(await exchange(app, token))).toBe('400 invalid_request');
      expect(await introspected(app, token, service.authorization)).toEqual({ active: false });
      const json = { refresh_token: token };
      expect(outcome(await app.ask('POST', '/refresh', { json }))).toBe('400 invalid_grant');
    }
    expect((await app.ask('GET', `sign-out?id_token_hint=${ofRun}`)).status).toBe(400);
  });
});

test('audiences are whole strings, and neither this service nor another', () => {
  const audiences = (LATCHKEY_IDENTITY_AUDIENCES: string) =>
    readConfig({ LATCHKEY_IDENTITY_AUDIENCES, LATCHKEY_BASE_URL: 'https://login.example.com' })
      .identityAudiences;
  expect(audiences(`${cloud}, //iam.example/projects/1`)).toEqual([cloud, '//iam.example/projects/1']);
  const own = 'https://login.example.com';
  for (const wrong of [own, `${own}/`, 'svc_1', 'a b', 'x'.repeat(2049)])
    expect(() => audiences(wrong)).toThrow('LATCHKEY_IDENTITY_AUDIENCES must');
});
