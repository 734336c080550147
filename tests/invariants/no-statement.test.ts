// Handles are authenticated by their MAC: forged, truncated and foreign ones are refused without a database query.

import { beforeAll, describe, expect, test } from 'bun:test';
import type { Endpoint } from '@latchkey/contract/endpoint';
import { endpoints } from '@latchkey/contract/endpoints';
import { cookieByMail, sameOrigin } from '#support/account.ts';
import { type Answer, type Ask, openApp, type Tokens } from '#support/app.ts';
import { createdKey } from '#support/keys.ts';
import { declareService, untilServiceUsed } from '#support/services.ts';
import { shared } from '#support/shared.ts';
import {
  type HandleKind,
  handlePrefix,
  mintHandle,
  readHandle,
} from '../../packages/server/src/platform/crypto/handle.ts';
import { generateKey, parseKeyRing } from '../../packages/server/src/platform/crypto/primitives.ts';

const app = shared(() => openApp('sqlite'));
let tokens: Tokens;
let cookie: string;
let key: string;
let deviceCode: string;
let magicLink: { token: string; request: string; code: string };

beforeAll(async () => {
  tokens = await app.login();
  cookie = (await cookieByMail(app, 'ada@example.com')).split('=')[1]!;
  ({ key } = await createdKey(app, tokens));
  deviceCode = (await app.ask('POST', '/device')).body.device_code;
  const { request } = await app.api.call('requestMagicLink', { body: { email: 'ada@example.com' } });
  const [mail] = await app.mails();
  magicLink = { token: mail!.token, request, code: mail!.code };
});

interface EntryPoint {
  readonly kind: HandleKind;
  readonly genuine: () => string;
  readonly present: (handle: string) => Promise<Answer>;
  readonly refusal: [status: number, error: string];
}

const post =
  (path: string, ask: (handle: string) => Ask): EntryPoint['present'] =>
  (handle) =>
    app.ask('POST', path, ask(handle));

const invalidToken: EntryPoint['refusal'] = [401, 'invalid_token'];
const invalidGrant: EntryPoint['refusal'] = [400, 'invalid_grant'];

const entryPoints: Record<string, EntryPoint> = {
  'the refresh endpoint': {
    kind: 'refreshToken',
    genuine: () => tokens.refresh_token,
    present: post('/refresh', (refresh_token) => ({ json: { refresh_token } })),
    refusal: invalidGrant,
  },
  'the refresh grant of the token endpoint': {
    kind: 'refreshToken',
    genuine: () => tokens.refresh_token,
    present: post('/token', (refresh_token) => ({ form: { grant_type: 'refresh_token', refresh_token } })),
    refusal: invalidGrant,
  },
  'the polling of a device code': {
    kind: 'deviceCode',
    genuine: () => deviceCode,
    present: post('/token', (device_code) => ({ json: { device_code } })),
    refusal: invalidGrant,
  },
  'the login by magic link': {
    kind: 'magicLink',
    genuine: () => magicLink.token,
    present: post('/magic_link/verify', (token) => ({ json: { token } })),
    refusal: invalidGrant,
  },
  'the sign-in by code': {
    kind: 'magicLinkRequest',
    genuine: () => magicLink.request,
    present: post('/magic_link/verify', (request) => ({ json: { request, code: magicLink.code } })),
    refusal: invalidGrant,
  },
  'a session cookie': {
    kind: 'browserSession',
    genuine: () => cookie,
    present: (handle) => app.ask('GET', '/me', { cookie: `latchkey_session=${handle}`, headers: sameOrigin }),
    refusal: invalidToken,
  },
};
for (const { id, method, path, access } of Object.values<Endpoint>(endpoints)) {
  if (access === 'anyone' || access === 'service') continue;
  const ownPath = path.replace('/api/v1/auth', '').replace(/\{\w+\}/, 'unknown');
  entryPoints[id] = {
    kind: 'accessToken',
    genuine: () => tokens.access_token,
    present: (token) => app.ask(method.toUpperCase(), ownPath, { token }),
    refusal: invalidToken,
  };
}

entryPoints['a key'] = {
  kind: 'accessKey',
  genuine: () => key,
  present: (token) => app.ask('GET', '/me', { token }),
  refusal: invalidToken,
};

/** Wherever a token of one of these kinds is accepted, so is one of the other. */
const bearerKinds: readonly HandleKind[] = ['accessToken', 'accessKey'];

/** Invalid handles, from garbage to nearly genuine ones. */
function impostors({ kind, genuine }: EntryPoint): [string, string][] {
  const text = genuine();
  const { subject, value } = readHandle(app.ctx.keys, kind, text)!;
  const at = (index: number) =>
    text.slice(0, index) + (text[index] === 'A' ? 'B' : 'A') + text.slice(index + 1);
  const otherKinds = (Object.keys(handlePrefix) as HandleKind[]).filter((other) => other !== kind);
  const refusedKinds = bearerKinds.includes(kind)
    ? otherKinds.filter((other) => !bearerKinds.includes(other))
    : otherKinds;
  return [
    ['garbage', 'garbage'],
    ['the prefix alone', handlePrefix[kind]],
    ['the right length without a known key', handlePrefix[kind] + 'A'.repeat(80)],
    ['a handle under a foreign key', mintHandle(parseKeyRing(generateKey()), kind, { subject, value })],
    ['another key ID', at(handlePrefix[kind].length + 3)],
    ['another subject', at(handlePrefix[kind].length + 20)],
    ['a later expiry or generation', at(handlePrefix[kind].length + 32)],
    ['another MAC', at(text.length - 1)],
    ['a truncated handle', text.slice(0, -1)],
    ['an extended handle', `${text}A`],
    ['a padded handle', `${text}=`],
    ...refusedKinds.map((other): [string, string] => [
      `a genuine handle of kind ${other}`,
      mintHandle(app.ctx.keys, other, { subject, value }),
    ]),
    ...otherKinds.map((other): [string, string] => [
      `a genuine handle of kind ${other} under this prefix`,
      handlePrefix[kind] + mintHandle(app.ctx.keys, other, { subject, value }).slice(6),
    ]),
  ];
}

describe.each(Object.entries(entryPoints))('%s', (_, entryPoint) => {
  test('forged, truncated and foreign handles are refused without a database statement', async () => {
    for (const [what, handle] of impostors(entryPoint)) {
      const statements = app.statements.length;
      const answer = await entryPoint.present(handle);
      expect([what, answer.status, answer.body.error]).toEqual([what, ...entryPoint.refusal]);
      expect([what, app.statements.slice(statements)]).toEqual([what, []]);
    }
  });
});

test('the RFC 7009 revocation endpoint answers 200 to any unknown token without a database statement', async () => {
  const strings = impostors(entryPoints['the refresh endpoint']!);
  const revocable: readonly HandleKind[] = [...bearerKinds, 'deviceCode', 'authorizationCode'];
  const unknown = strings.filter(
    ([, text]) => !revocable.some((kind) => text.startsWith(handlePrefix[kind])),
  );
  for (const [what, handle] of unknown) {
    const statements = app.statements.length;
    const answer = await app.ask('POST', '/revoke', { form: { token: handle } });
    expect([what, answer.status]).toEqual([what, 200]);
    expect([what, app.statements.slice(statements)]).toEqual([what, []]);
  }
});

test('introspection finds any unknown or expired token inactive, with no statement but that for the service key', async () => {
  const { id, authorization: Authorization } = await declareService(app.ctx);
  const introspect = (token: string) =>
    app.ask('POST', '/introspect', { form: { token }, headers: { Authorization } });
  await introspect('x');
  await untilServiceUsed(app, id);
  const past = { subject: Buffer.alloc(16, 1), value: app.ctx.clock() - 1 };
  const expired = bearerKinds.map((kind) => ['expired', mintHandle(app.ctx.keys, kind, past)] as const);
  const known: readonly HandleKind[] = [...bearerKinds, 'refreshToken'];
  const entries = ['getProfile', 'a key', 'the refresh endpoint'].map((name) => entryPoints[name]!);
  for (const [what, token] of [...expired, ...entries.flatMap(impostors)]) {
    if (what !== 'expired' && known.some((kind) => readHandle(app.ctx.keys, kind, token))) continue;
    const statements = app.statements.length;
    expect([what, (await introspect(token)).body]).toEqual([what, { active: false }]);
    expect(app.statements.slice(statements)).toEqual([expect.stringContaining('service_keys')]);
  }
});

test('an expired access token or key is refused without a database statement', async () => {
  const past = { subject: Buffer.alloc(16, 1), value: app.ctx.clock() - 1 };
  for (const kind of bearerKinds) {
    const statements = app.statements.length;
    const answer = await app.ask('GET', '/me', { token: mintHandle(app.ctx.keys, kind, past) });
    expect([kind, answer.status, answer.body.error]).toEqual([kind, 401, 'invalid_token']);
    expect([kind, app.statements.slice(statements)]).toEqual([kind, []]);
  }
});

test('genuine handles are accepted and checked against the database', async () => {
  const expected = {
    accessKey: [200, undefined],
    accessToken: [200, undefined],
    browserSession: [200, undefined],
    deviceCode: [400, 'authorization_pending'],
    magicLinkRequest: [200, undefined],
    refreshToken: [200, undefined],
  };
  const names = [
    'getProfile',
    'a key',
    'a session cookie',
    'the polling of a device code',
    'the sign-in by code',
  ];
  for (const name of [...names, 'the refresh endpoint']) {
    const entryPoint = entryPoints[name]!;
    const statements = app.statements.length;
    const answer = await entryPoint.present(entryPoint.genuine());
    const { [entryPoint.kind as keyof typeof expected]: outcome } = expected;
    expect([name, answer.status, answer.body.error]).toEqual([name, ...outcome]);
    expect(app.statements.length).toBeGreaterThan(statements);
  }
});
