// A handle proves itself: what is forged, cut or foreign is refused before the store is asked.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import {
  type HandleKind,
  handlePrefix,
  mintHandle,
  readHandle,
} from '../../packages/server/src/platform/crypto/handle.ts';
import { generateKey, parseKeyRing } from '../../packages/server/src/platform/crypto/key-ring.ts';
import { type Answer, type Ask, openApp, type TestApp, type Tokens } from '../support/app.ts';

setDefaultTimeout(30_000);

let app: TestApp;
let tokens: Tokens;
let cookie: string;
let deviceCode: string;
let magicLink: { token: string; request: string; code: string };

const sameOrigin = { 'Sec-Fetch-Site': 'same-origin' };

beforeAll(async () => {
  app = await openApp('sqlite', { settings: { LATCHKEY_RATE_LIMITS: 'off' } });
  tokens = await app.login();
  await app.ask('POST', '/magic_link', { json: { email: 'ada@example.com' } });
  const [login] = await app.mails();
  const inCookie = await app.ask('POST', '/magic_link/verify?session=cookie', {
    json: { token: login?.token },
    headers: sameOrigin,
  });
  cookie = /=(lk_bs_[^;]+)/.exec(inCookie.headers.get('Set-Cookie')!)![1]!;
  deviceCode = (await app.ask('POST', '/device')).body.device_code;
  const asked = await app.ask('POST', '/magic_link', { json: { email: 'ada@example.com' } });
  const [mail] = await app.mails();
  magicLink = { token: mail!.token, request: asked.body.request, code: mail!.code };
});

afterAll(() => app.close());

interface Door {
  readonly kind: HandleKind;
  readonly genuine: () => string;
  readonly enter: (handle: string) => Promise<Answer>;
  readonly refusal: [status: number, error: string];
}

const post =
  (path: string, ask: (handle: string) => Ask): Door['enter'] =>
  (handle) =>
    app.ask('POST', path, ask(handle));

const invalidToken: Door['refusal'] = [401, 'invalid_token'];
const invalidGrant: Door['refusal'] = [400, 'invalid_grant'];

const bearerDoors = [
  ['GET', '/me'],
  ['PATCH', '/me'],
  ['GET', '/organizations'],
  ['GET', '/sessions'],
  ['DELETE', '/sessions/ses_unknown'],
  ['POST', '/revoke'],
  ['DELETE', '/logout'],
  ['POST', '/device/verify'],
  ['POST', '/device/approve'],
  ['POST', '/device/deny'],
] as const;

const doors: Record<string, Door> = {
  'the refresh endpoint': {
    kind: 'refreshToken',
    genuine: () => tokens.refresh_token,
    enter: post('/refresh', (refresh_token) => ({ json: { refresh_token } })),
    refusal: invalidGrant,
  },
  'the refresh grant of the token endpoint': {
    kind: 'refreshToken',
    genuine: () => tokens.refresh_token,
    enter: post('/token', (refresh_token) => ({ form: { grant_type: 'refresh_token', refresh_token } })),
    refusal: invalidGrant,
  },
  'the polling of a device code': {
    kind: 'deviceCode',
    genuine: () => deviceCode,
    enter: post('/token', (device_code) => ({ json: { device_code } })),
    refusal: invalidGrant,
  },
  'the login by magic link': {
    kind: 'magicLink',
    genuine: () => magicLink.token,
    enter: post('/magic_link/verify', (token) => ({ json: { token } })),
    refusal: invalidGrant,
  },
  'the login by code': {
    kind: 'magicLinkRequest',
    genuine: () => magicLink.request,
    enter: post('/magic_link/verify', (request) => ({ json: { request, code: magicLink.code } })),
    refusal: invalidGrant,
  },
  'a session cookie': {
    kind: 'browserSession',
    genuine: () => cookie,
    enter: (handle) => app.ask('GET', '/me', { cookie: `latchkey_session=${handle}`, headers: sameOrigin }),
    refusal: invalidToken,
  },
};
for (const [method, path] of bearerDoors) {
  doors[`${method} ${path}`] = {
    kind: 'accessToken',
    genuine: () => tokens.access_token,
    enter: (token) => app.ask(method, path, { token }),
    refusal: invalidToken,
  };
}

/** Everything that is not the genuine handle, though some of it comes close. */
function impostors({ kind, genuine }: Door): [string, string][] {
  const text = genuine();
  const said = readHandle(app.ctx.keys, kind, text)!;
  const { subject, value } = said;
  const at = (index: number) =>
    text.slice(0, index) + (text[index] === 'A' ? 'B' : 'A') + text.slice(index + 1);
  const otherKinds = (Object.keys(handlePrefix) as HandleKind[]).filter((other) => other !== kind);
  return [
    ['no handle at all', 'garbage'],
    ['its prefix alone', handlePrefix[kind]],
    ['as long as a handle, but of no key', handlePrefix[kind] + 'A'.repeat(80)],
    ['one under a foreign key', mintHandle(parseKeyRing(generateKey()), kind, { subject, value })],
    ['one with another key id', at(handlePrefix[kind].length + 3)],
    ['one with another subject', at(handlePrefix[kind].length + 20)],
    ['one with a later end or generation', at(handlePrefix[kind].length + 32)],
    ['one with another MAC', at(text.length - 1)],
    ['one that was cut', text.slice(0, -1)],
    ['one that was extended', `${text}A`],
    ['one with padding', `${text}=`],
    ...otherKinds.map((other): [string, string] => [
      `a good one of kind ${other}`,
      mintHandle(app.ctx.keys, other, { subject, value }),
    ]),
    ...otherKinds.map((other): [string, string] => [
      `a good one of kind ${other} under this prefix`,
      handlePrefix[kind] + mintHandle(app.ctx.keys, other, { subject, value }).slice(6),
    ]),
  ];
}

describe.each(Object.entries(doors))('%s', (_, door) => {
  test('refuses what is forged, cut or foreign without running a statement', async () => {
    for (const [what, handle] of impostors(door)) {
      const statements = app.statements.length;
      const answer = await door.enter(handle);
      expect([what, answer.status, answer.body.error]).toEqual([what, ...door.refusal]);
      expect([what, app.statements.slice(statements)]).toEqual([what, []]);
    }
  });
});

test('the revocation endpoint of RFC 7009 shrugs at any string without running a statement', async () => {
  const strings = impostors(doors['the refresh endpoint']!);
  for (const [what, handle] of strings.filter(([, text]) => !text.startsWith(handlePrefix.accessToken))) {
    const statements = app.statements.length;
    const answer = await app.ask('POST', '/revoke', { form: { token: handle } });
    expect([what, answer.status]).toEqual([what, 200]);
    expect([what, app.statements.slice(statements)]).toEqual([what, []]);
  }
});

test('an access token past its end is refused without running a statement', async () => {
  const past = { subject: Buffer.alloc(16, 1), value: app.ctx.clock() - 1 };
  const statements = app.statements.length;
  const answer = await app.ask('GET', '/me', { token: mintHandle(app.ctx.keys, 'accessToken', past) });
  expect([answer.status, answer.body.error]).toEqual([401, 'invalid_token']);
  expect(app.statements.slice(statements)).toEqual([]);
});

test('the genuine ones were good all along, and are asked of the store', async () => {
  const expected = {
    accessToken: [200, undefined],
    browserSession: [200, undefined],
    deviceCode: [400, 'authorization_pending'],
    magicLinkRequest: [200, undefined],
    refreshToken: [200, undefined],
  };
  const names = ['GET /me', 'a session cookie', 'the polling of a device code', 'the login by code'];
  for (const name of [...names, 'the refresh endpoint']) {
    const door = doors[name]!;
    const statements = app.statements.length;
    const answer = await door.enter(door.genuine());
    const { [door.kind as keyof typeof expected]: outcome } = expected;
    expect([name, answer.status, answer.body.error]).toEqual([name, ...outcome]);
    expect(app.statements.length).toBeGreaterThan(statements);
  }
});
