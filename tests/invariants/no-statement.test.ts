// Handles are authenticated by their MAC: forged, truncated and foreign ones are refused without a database query.

import { beforeAll, expect, test } from 'bun:test';
import type { Endpoint } from '@latchkey/contract/endpoint';
import { endpoints } from '@latchkey/contract/endpoints';
import { cookieByMail, outcome, sameOrigin } from '#support/account.ts';
import { type Answer, type Ask, openApp } from '#support/app.ts';
import { startDevice } from '#support/devices.ts';
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
/** A handle of each kind that an entry point takes. */
const genuine = new Map<HandleKind, string>();
let code: string;

beforeAll(async () => {
  const tokens = await app.login();
  const { request } = await app.api.call('requestMagicLink', { body: { email: 'ada@example.com' } });
  const [mail] = await app.mails();
  code = mail!.code;
  const handles = {
    accessToken: tokens.access_token,
    refreshToken: tokens.refresh_token,
    browserSession: (await cookieByMail(app, 'eve@example.com')).split('=')[1]!,
    accessKey: (await createdKey(app, tokens)).key,
    deviceCode: (await startDevice(app)).device_code,
    magicLink: mail!.token,
    magicLinkRequest: request,
  };
  for (const [kind, handle] of Object.entries(handles)) genuine.set(kind as HandleKind, handle);
});

type Present = (handle: string) => Promise<Answer>;

/** `accepted`: what becomes of a genuine handle. Without it none is presented, because it would be spent or end something. */
type EntryPoint = readonly [kind: HandleKind, present: Present, accepted?: string];

const post =
  (path: string, ask: (handle: string) => Ask): Present =>
  (handle) =>
    app.ask('POST', path, ask(handle));

const profileOf: Present = (token) => app.ask('GET', '/me', { token });

const entryPoints: Record<string, EntryPoint> = {
  'the refresh endpoint': [
    'refreshToken',
    post('/refresh', (refresh_token) => ({ json: { refresh_token } })),
  ],
  'the refresh grant of the token endpoint': [
    'refreshToken',
    post('/token', (refresh_token) => ({ form: { grant_type: 'refresh_token', refresh_token } })),
    '200',
  ],
  'the polling of a device code': [
    'deviceCode',
    post('/token', (device_code) => ({ json: { device_code } })),
    '400 authorization_pending',
  ],
  'the login by magic link': ['magicLink', post('/magic_link/verify', (token) => ({ json: { token } }))],
  'the sign-in by code': [
    'magicLinkRequest',
    post('/magic_link/verify', (request) => ({ json: { request, code } })),
    '200',
  ],
  'a session cookie': [
    'browserSession',
    (handle) => app.ask('GET', '/me', { cookie: `latchkey_session=${handle}`, headers: sameOrigin }),
    '200',
  ],
  'a key': ['accessKey', profileOf, '200'],
};
for (const { id, method, path, access } of Object.values<Endpoint>(endpoints)) {
  if (access === 'anyone' || access === 'service') continue;
  const ownPath = path.replace('/api/v1/auth', '').replace(/\{\w+\}/, 'unknown');
  const present: Present = (token) => app.ask(method.toUpperCase(), ownPath, { token });
  entryPoints[id] = id === 'getProfile' ? ['accessToken', present, '200'] : ['accessToken', present];
}

/** Wherever a token of one of these kinds is accepted, so is one of the other. */
const bearerKinds: readonly HandleKind[] = ['accessToken', 'accessKey'];

/** Invalid handles by what is wrong with them. Every other way to forge one is in the tests of handles. */
function impostors([kind]: EntryPoint): [string, string][] {
  const text = genuine.get(kind)!;
  const { subject, value } = readHandle(app.ctx.keys, kind, text)!;
  const otherKinds = (Object.keys(handlePrefix) as HandleKind[]).filter(
    (other) => other !== kind && !(bearerKinds.includes(kind) && bearerKinds.includes(other)),
  );
  return [
    ['garbage', 'garbage'],
    ['the prefix alone', handlePrefix[kind]],
    ['another MAC', text.slice(0, -1) + (text.endsWith('A') ? 'B' : 'A')],
    ['a handle under a foreign key', mintHandle(parseKeyRing(generateKey()), kind, { subject, value })],
    ...otherKinds.map((other): [string, string] => [
      other,
      mintHandle(app.ctx.keys, other, { subject, value }),
    ]),
  ];
}

/** Requires that each handle has this outcome, needs no statement and is not repeated. */
async function requireNoStatement(
  handles: readonly [what: string, handle: string][],
  present: Present,
  result: string,
): Promise<void> {
  for (const [what, handle] of handles) {
    const before = app.statements.length;
    const answer = await present(handle);
    const statements = app.statements.slice(before);
    expect({ what, outcome: outcome(answer), statements }).toEqual({ what, outcome: result, statements: [] });
    const challenge = answer.headers.get('WWW-Authenticate') ?? '';
    if (answer.status === 401) expect(challenge).toMatch(/^Bearer (.+, )?error="invalid_token"/);
    if (handle.length > 20) expect(answer.text + challenge).not.toContain(handle);
  }
}

test.each(Object.entries(entryPoints))(
  '%s refuses forged and foreign handles without a statement, and looks a genuine one up',
  async (_, entryPoint) => {
    const [kind, present, accepted] = entryPoint;
    const isGrant = !['accessToken', 'accessKey', 'browserSession'].includes(kind);
    const refusal = isGrant ? '400 invalid_grant' : '401 invalid_token';
    await requireNoStatement(impostors(entryPoint), present, refusal);
    if (accepted === undefined) return;
    const before = app.statements.length;
    expect(outcome(await present(genuine.get(kind)!))).toBe(accepted);
    expect(app.statements.length).toBeGreaterThan(before);
  },
);

const expired = (kind: HandleKind): [string, string] => [
  `an expired ${kind}`,
  mintHandle(app.ctx.keys, kind, { subject: Buffer.alloc(16, 1), value: app.ctx.clock() - 1 }),
];

test('an expired access token or key is refused without a database statement', () =>
  requireNoStatement(bearerKinds.map(expired), profileOf, '401 invalid_token'));

test('the RFC 7009 revocation endpoint answers 200 to any unknown token without a database statement', async () => {
  const revocable: readonly HandleKind[] = [...bearerKinds, 'deviceCode', 'authorizationCode'];
  const unknown = impostors(entryPoints['the refresh endpoint']!).filter(
    ([, text]) => !revocable.some((kind) => text.startsWith(handlePrefix[kind])),
  );
  const revoke = post('/revoke', (token) => ({ form: { token } }));
  await requireNoStatement(unknown, revoke, '200');
});

test('introspection finds any unknown or expired token inactive, with no statement but that for the service key', async () => {
  const { id, authorization: Authorization } = await declareService(app.ctx);
  const introspect = (token: string) =>
    app.ask('POST', '/introspect', { form: { token }, headers: { Authorization } });
  await introspect('x');
  await untilServiceUsed(app, id);
  const known: readonly HandleKind[] = [...bearerKinds, 'refreshToken'];
  const entries = ['getProfile', 'a key', 'the refresh endpoint'].map((name) => entryPoints[name]!);
  const unknown = entries
    .flatMap(impostors)
    .filter(([, token]) => !known.some((kind) => readHandle(app.ctx.keys, kind, token)));
  for (const [what, token] of [...bearerKinds.map(expired), ...unknown]) {
    const statements = app.statements.length;
    expect([what, (await introspect(token)).body]).toEqual([what, { active: false }]);
    expect(app.statements.slice(statements)).toEqual([expect.stringContaining('service_keys')]);
  }
});
