import { expect, test } from 'bun:test';
import type { ActiveToken } from './active-token.ts';
import { LatchkeyError, type LatchkeyErrorCode } from './errors.ts';
import type { Caller } from './guard/caller.ts';
import type { Requirements } from './guard/requirements.ts';
import { createGuard, type Guard, type GuardOptions, protectedResource } from './guard.ts';

/** Seconds since 1970. */
const now = 1_000_000_000;
const issuer = async () => 'https://login.example';
const resource = 'https://projects.example/mcp';
const document = '/.well-known/oauth-protected-resource/mcp';
const bearer = { Authorization: 'Bearer lk_at_a' };
const asksAsPage = { Origin: 'https://page.example', 'Access-Control-Request-Method': 'POST' };

/** A guard whose only active token is `lk_at_a`, with these members, and the tokens that it has verified. */
function guardOf(members: Partial<ActiveToken> = {}, options: Partial<GuardOptions> = {}) {
  const verified: string[] = [];
  const session = members.sub?.startsWith('svc_') ? {} : { sid: 'ses_a' };
  const token: ActiveToken = { active: true, sub: 'usr_a', ...session, exp: now + 600, ...members };
  const verify = async (accessToken: string) => {
    verified.push(accessToken);
    return accessToken === 'lk_at_a' ? token : ({ active: false } as const);
  };
  const verifier = {
    verify,
    issuer,
    nowMs: now * 1000,
    now() {
      return this.nowMs;
    },
  };
  return Object.assign(createGuard({ verifier, ...options }), { verified });
}

const requestTo = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  new Request(`https://projects.example${path}`, { method, headers });

async function callerWith(
  members: Partial<ActiveToken>,
  headers = bearer,
  needed?: Requirements,
): Promise<Caller> {
  const caller = await guardOf(members)(requestTo('/projects', headers), needed);
  if (caller instanceof Response) throw new Error(`refused: ${await caller.text()}`);
  return caller;
}

/** What a refusal says: status, challenge and body. */
async function refusalOf(result: Promise<Caller | Response>) {
  const response = await result;
  if (!(response instanceof Response)) throw new Error('accepted');
  const { status, headers } = response;
  if (status !== 405) expect(headers.get('Content-Type')).toStartWith('application/json');
  return { status, headers, challenge: headers.get('WWW-Authenticate'), body: await response.json() };
}

const invalid = 'The access token is malformed, expired or revoked.';
const absent = 'This request requires an access token.';

test.each([
  [{}, absent],
  [{ Authorization: 'Basic dXNlcjpwYXNz' }, absent],
  [{ Authorization: 'Bearerlk_at_a' }, absent],
  [{ Authorization: 'Bearer lk_at_b' }, invalid],
  [{ Authorization: 'Bearer' }, invalid],
  [{ Authorization: 'Bearer lk_at_a, Bearer lk_at_a' }, invalid],
  [{ Authorization: 'Bearer a b' }, invalid],
])(
  '%j is 401, and the challenge names an error only where there was a bearer token: %s',
  async (sent, why) => {
    const guard = guardOf();
    const { status, challenge, headers, body } = await refusalOf(
      guard(requestTo('/', sent as typeof bearer)),
    );
    expect([status, body]).toEqual([401, { error: 'invalid_token', error_description: why }]);
    expect(challenge).toBe(
      `Bearer realm="latchkey"${why === absent ? '' : `, error="invalid_token", error_description="${why}"`}`,
    );
    expect(headers.get('Cache-Control')).toBe('no-store');
    expect(guard.verified).toHaveLength(why === absent ? 0 : 1);
  },
);

test('the scheme is case-insensitive, the caller is everything the service says, and roles are found by slug and by ID', async () => {
  const members: Partial<ActiveToken> = {
    token_use: 'access_token',
    scope: 'projects:read projects:write',
    aud: 'https://projects.example',
    auth_time: now - 60,
    amr: ['pop', 'user'],
    acr: 'phr',
    name: 'Ada',
    email: 'ada@example.com',
    email_verified: true,
    organizations: [{ id: 'org_a', slug: 'acme', role: 'admin' }],
    organizations_truncated: true,
    act: { sub: 'svc_b' },
    within: ['ses_b'],
    later: 'a member of a newer service',
  };
  const caller = await callerWith(members, { Authorization: 'bEARER  lk_at_a' });
  expect(['acme', 'org_a', 'other', ''].map(caller.roleIn)).toEqual(['admin', 'admin', undefined, undefined]);
  expect(caller).toMatchObject({
    kind: 'user',
    subject: 'usr_a',
    sessionId: 'ses_a',
    tokenUse: 'access_token',
    scopes: ['projects:read', 'projects:write'],
    audience: 'https://projects.example',
    expiresAt: now + 600,
    authTime: now - 60,
    amr: ['pop', 'user'],
    acr: 'phr',
    name: 'Ada',
    email: 'ada@example.com',
    emailVerified: true,
    organizations: [{ id: 'org_a', slug: 'acme', role: 'admin' }],
    organizationsTruncated: true,
    actor: { sub: 'svc_b' },
    within: ['ses_b'],
    authorizationDetails: [],
    claims: { ...members, active: true, sub: 'usr_a', sid: 'ses_a' },
  });
});

test('a token without optional members makes a caller without them; a key is not taken for a service', async () => {
  const caller = await callerWith({});
  const defaults = {
    tokenUse: 'access_token',
    scopes: [],
    amr: [],
    within: [],
    organizationsTruncated: false,
  };
  expect(caller).toMatchObject(defaults);
  const absent = ['audience', 'authTime', 'acr', 'name', 'email', 'emailVerified', 'organizations', 'actor'];
  for (const member of absent) expect([member, caller[member as keyof Caller]]).toEqual([member, undefined]);
  expect([caller.hasScope('projects:read'), caller.roleIn('acme')]).toEqual([false, undefined]);
  const key = await callerWith({ token_use: 'key', sid: 'key_a' });
  expect(key).toMatchObject({ kind: 'user', tokenUse: 'key', sessionId: 'key_a' });
  const service = { kind: 'service', subject: 'svc_a', sessionId: undefined };
  expect(await callerWith({ sub: 'svc_a' })).toMatchObject(service);
});

const details = [{ type: 'deployment', environment: 'staging' }, { type: 'session' }];
const anotherKind = 'This request requires another kind of sign-in.';
const recent = 'This request requires a recent sign-in.';
const withScope = 'This request requires a token with the scope';
const narrow = 'insufficient_scope';
const stepUp = 'insufficient_user_authentication';

test.each<{
  what: string;
  needed: Requirements;
  accepted: readonly Partial<ActiveToken>[];
  refused: readonly Partial<ActiveToken>[];
  refusal: readonly [error: string, description: string, parameters?: string];
}>([
  {
    what: 'every scope of the route, compared whole; * holds all of them',
    needed: { scopes: ['a:read', 'a:write'] },
    accepted: [{ scope: 'a:write a:read' }, { scope: '*' }, { scope: 'x  * y' }],
    refused: [{}, { scope: '' }, { scope: 'a:read' }, { scope: 'a:writer a:read' }, { scope: '*:read a:*' }],
    refusal: [narrow, `${withScope} a:read a:write.`, ', scope="a:read a:write"'],
  },
  {
    what: 'the scope *, which no narrower token holds, and this before a recent sign-in',
    needed: { scopes: ['*'], maxAgeSeconds: 60 },
    accepted: [{ scope: '*', auth_time: now }],
    refused: [{ scope: 'a:read' }],
    refusal: [narrow, `${withScope} *.`, ', scope="*"'],
  },
  {
    what: 'a sign-in that is known, and no older than that',
    needed: { maxAgeSeconds: 900 },
    accepted: [{ auth_time: now - 900 }, { auth_time: now }, { auth_time: now + 30 }],
    refused: [{ auth_time: now - 901 }, {}, { token_use: 'key' }],
    refusal: [stepUp, recent, ', max_age="900"'],
  },
  {
    what: 'a kind of sign-in',
    needed: { acr: ['phrh', 'phr'] },
    accepted: [{ acr: 'phr' }],
    refused: [{ acr: 'other' }, {}],
    refusal: [stepUp, anotherKind, ', acr_values="phrh phr"'],
  },
  {
    what: 'a recent sign-in of a kind',
    needed: { acr: ['phr'], maxAgeSeconds: 60 },
    accepted: [{ acr: 'phr', auth_time: now }],
    refused: [{}, { acr: 'phr' }],
    refusal: [stepUp, recent, ', max_age="60", acr_values="phr"'],
  },
  {
    what: 'a kind of a recent sign-in',
    needed: { acr: ['phr'], maxAgeSeconds: 60 },
    accepted: [],
    refused: [{ auth_time: now }],
    refusal: [stepUp, anotherKind, ', max_age="60", acr_values="phr"'],
  },
  {
    what: 'nothing but the types of authorization details that it heeds',
    needed: { heeds: ['session', 'deployment'] },
    accepted: [{ authorization_details: details }, { authorization_details: [] }],
    refused: [{ authorization_details: [...details, { type: 'Deployment' }], scope: '*' }],
    refusal: [narrow, 'This service does not support authorization_details of the type Deployment.'],
  },
])('a route can require $what', async ({ needed, accepted, refused, refusal }) => {
  for (const members of accepted) {
    const { authorizationDetails } = await callerWith(members, bearer, needed);
    expect(authorizationDetails).toEqual(members.authorization_details ?? []);
  }
  const [error, description, parameters = ''] = refusal;
  for (const members of refused)
    expect(await refusalOf(guardOf(members)(requestTo('/projects', bearer), needed))).toMatchObject({
      status: error === narrow ? 403 : 401,
      challenge: `Bearer realm="latchkey", error="${error}", error_description="${description}"${parameters}`,
      body: { error, error_description: description },
    });
});

test.each<[LatchkeyErrorCode, number | undefined, string]>([
  ['unreachable', undefined, '5'],
  ['timeout', undefined, '5'],
  ['temporarily_unavailable', 7, '7'],
  ['rate_limited', 30, '30'],
  ['not_latchkey', undefined, '5'],
  ['invalid_client', undefined, '5'],
])(
  'a service that cannot be asked (%s) is 503 with Retry-After, and is reported',
  async (code, wait, shown) => {
    const error = new LatchkeyError(code, 'of the service', { retryAfterSeconds: wait });
    const fail = () => Promise.reject(error);
    const verifier = { verify: fail, issuer: fail };
    const reported: LatchkeyError[] = [];
    const guard = createGuard({ verifier, resource, onUnavailable: (failure) => reported.push(failure) });
    const request = requestTo('/', bearer);
    const metadata = requestTo(document);
    for (const response of [
      guard(request),
      createGuard({ verifier })(request),
      protectedResource(guard)(metadata),
    ]) {
      const { status, headers, challenge, body } = await refusalOf(response);
      expect([status, headers.get('Retry-After'), challenge]).toEqual([503, shown, null]);
      expect(body).toEqual({
        error: 'temporarily_unavailable',
        error_description: 'The access token could not be verified. Try again shortly.',
      });
    }
    expect(reported).toEqual([error, error]);
  },
);

test('an error that is not from the service is thrown', async () => {
  const guard = createGuard({ verifier: { verify: () => Promise.reject(new Error('a defect')), issuer } });
  await expect(guard(requestTo('/', bearer))).rejects.toThrow('a defect');
});

test('the body names the request by its X-Request-Id, if that is one', async () => {
  const idOf = async (id: string) =>
    (await refusalOf(guardOf()(requestTo('/', { 'X-Request-Id': id })))).body.request_id;
  expect(await idOf('a.B-9_')).toBe('a.B-9_');
  for (const id of ['a b', '"', 'x'.repeat(129), 'a, b']) expect(await idOf(id)).toBeUndefined();
});

test('requirements that no token can meet, or that would break the challenge, are refused at once', () => {
  const guard = guardOf({}, { acr: ['phr'] });
  const wrong: [Requirements, string][] = [
    [{ scopes: ['projects:read projects:write'] }, 'scope'],
    [{ scopes: [''] }, 'scope'],
    [{ scopes: ['a"b'] }, 'scope'],
    [{ maxAgeSeconds: -1 }, 'maxAgeSeconds'],
    [{ maxAgeSeconds: 1.5 }, 'maxAgeSeconds'],
    [{ maxAgeSeconds: Number.NaN }, 'maxAgeSeconds'],
    [{ acr: [] }, 'acr'],
    [{ acr: ['a b'] }, 'acr'],
    [{ acr: ['a"'] }, 'acr'],
    [{ acr: ['other'] }, 'acr'],
  ];
  for (const [requirements, message] of wrong) expect(() => guard.with(requirements)).toThrow(message);
  expect(() => guardOf({}, { scopes: ['A'] })).toThrow('scope');
  for (const resource of [
    '',
    'projects',
    'urn:a',
    'https://',
    'https://a/#b',
    'https://a/"',
    'https://a/?\\',
  ])
    expect(() => guardOf({}, { resource })).toThrow('resource must be');
});

test('every 401 and 403 leads to the metadata, names the scopes, and can be read by pages of other origins', async () => {
  const guard = guardOf({ scope: 'projects:read', aud: resource }, { resource, scopes: ['projects:read'] });
  const challenge = async (Authorization: string, more?: Requirements) => {
    const { headers, challenge } = await refusalOf(guard(requestTo('/projects', { Authorization }), more));
    expect(headers.get('Access-Control-Expose-Headers')).toBe('WWW-Authenticate');
    return challenge;
  };
  const narrow = `resource_metadata="https://projects.example${document}", scope="projects:read"`;
  expect(await challenge('')).toBe(`Bearer realm="latchkey", ${narrow}`);
  expect(await challenge('Bearer lk_at_b')).toEndWith(`error_description="${invalid}", ${narrow}`);
  expect(await challenge('Bearer lk_at_a', { maxAgeSeconds: 60 })).toEndWith(`max_age="60", ${narrow}`);
  const wider = await challenge('Bearer lk_at_a', { scopes: ['projects:write'] });
  expect(wider).toStartWith('Bearer realm="latchkey", error="insufficient_scope"');
  expect(wider).toContain(`resource_metadata="https://projects.example${document}"`);
  expect(wider?.match(/scope="[^"]*"/g)).toEqual(['scope="projects:read projects:write"']);
});

/** The responses of the guard itself and of what a program mounts for its metadata. */
const serving = (guard: Guard) => [guard, protectedResource(guard)];

test('the guard itself serves the metadata, with the scopes of all its routes but *', async () => {
  const guard = guardOf({}, { resource, scopes: ['projects:read'] });
  guard.with({ scopes: ['projects:write'] }).with({ scopes: ['*'] });
  const { status, headers, body } = await refusalOf(guard(requestTo(document)));
  expect([status, headers.get('Access-Control-Allow-Origin')]).toEqual([200, '*']);
  expect(body).toEqual({
    resource,
    authorization_servers: ['https://login.example'],
    scopes_supported: ['projects:read', 'projects:write'],
    bearer_methods_supported: ['header'],
  });
});

test.each([
  ['https://projects.example', ''],
  ['https://projects.example/', ''],
  ['https://projects.example/a/', '/a/'],
  ['https://projects.example/a?b=c', '/a?b=c'],
  [undefined, undefined],
])('the metadata of %s are where the RFC says, and nowhere else', async (resource, place) => {
  const guard = guardOf({}, resource === undefined ? {} : { resource });
  const wellKnown = '/.well-known/oauth-protected-resource';
  if (place !== undefined) {
    const { challenge } = await refusalOf(guard(requestTo('/')));
    const address = `https://projects.example${wellKnown}${place}`;
    expect(challenge).toBe(`Bearer realm="latchkey", resource_metadata="${address}"`);
    for (const serve of serving(guard))
      expect(await refusalOf(serve(requestTo(wellKnown + place)))).toMatchObject({
        status: 200,
        body: { resource },
      });
  }
  for (const other of ['/', `${wellKnown}${place?.split('?')[0]}x`, `${wellKnown}/b`]) {
    const [guarded, served] = serving(guard).map((serve) => refusalOf(serve(requestTo(other))));
    expect(await guarded).toMatchObject({ status: 401 });
    expect(await served).toMatchObject({ status: 404, body: { error: 'not_found' } });
  }
});

test('a preflight of the metadata allows the headers that it names; other methods are 405', async () => {
  const serve = protectedResource(guardOf({}, { resource }));
  const named = { ...asksAsPage, 'Access-Control-Request-Headers': 'mcp-protocol-version' };
  const preflight = await serve(requestTo(document, named, 'OPTIONS'));
  expect(preflight.status).toBe(204);
  expect(Object.fromEntries(preflight.headers)).toMatchObject({
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'GET, HEAD',
    'access-control-allow-headers': 'mcp-protocol-version',
  });
  expect((await serve(requestTo(document, {}, 'HEAD'))).status).toBe(200);
  const posted = await serve(requestTo(document, {}, 'POST'));
  expect([posted.status, posted.headers.get('Allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
  expect(posted.headers.get('Access-Control-Allow-Origin')).toBe('*');
});

test.each<
  [resource: string, aud: string | undefined, acceptUnbound: boolean | undefined, isAccepted: boolean]
>([
  [resource, undefined, undefined, false],
  [resource, undefined, true, true],
  [resource, resource, undefined, true],
  [resource, 'https://other.example', true, false],
  [resource, `${resource}/`, undefined, false],
  [resource, 'https://projects.example', undefined, false],
  ['https://projects.example', 'https://projects.example/', undefined, true],
  ['https://projects.example/', 'https://projects.example', undefined, true],
])(
  'at %s a token for %s (acceptUnbound: %s) is accepted: %s',
  async (resource, aud, acceptUnbound, isAccepted) => {
    for (const scope of ['projects:read', '*']) {
      const members = { scope, ...(aud === undefined ? {} : { aud }) };
      const options = { resource, ...(acceptUnbound === undefined ? {} : { acceptUnbound }) };
      const result = guardOf(members, options)(requestTo('/', bearer));
      if (isAccepted) expect(await result).toMatchObject({ subject: 'usr_a' });
      else expect(await refusalOf(result)).toMatchObject({ status: 401, body: { error: 'invalid_token' } });
    }
  },
);
