import { expect, test } from 'bun:test';
import { guardOf, issuer, now } from '../../../tests/support/guard.ts';
import type { ActiveToken } from './active-token.ts';
import { LatchkeyError, type LatchkeyErrorCode } from './errors.ts';
import type { Caller } from './guard/caller.ts';
import type { Requirements } from './guard/requirements.ts';
import { createGuard } from './guard.ts';

const requestWith = (headers: Record<string, string> = { Authorization: 'Bearer lk_at_a' }) =>
  new Request('https://projects.example/projects', { headers });

async function callerWith(members: Partial<ActiveToken>, requirements?: Requirements): Promise<Caller> {
  const caller = await guardOf(members)(requestWith(), requirements);
  if (caller instanceof Response) throw new Error(`refused: ${await caller.text()}`);
  return caller;
}

/** What a refusal says: status, challenge and body. */
async function refusalWith(members: Partial<ActiveToken>, requirements?: Requirements) {
  return readRefusal(await guardOf(members)(requestWith(), requirements));
}

async function readRefusal(response: Caller | Response) {
  if (!(response instanceof Response)) throw new Error('accepted');
  expect(response.headers.get('Content-Type')).toStartWith('application/json');
  expect(response.headers.get('Cache-Control')).toBe('no-store');
  return {
    status: response.status,
    challenge: response.headers.get('WWW-Authenticate'),
    body: await response.json(),
  };
}

const invalidToken = 'The access token is malformed, expired or revoked.';

test('without a bearer token the answer is 401 with a challenge that names no error', async () => {
  const guard = guardOf();
  for (const headers of [{}, { Authorization: 'Basic dXNlcjpwYXNz' }, { Authorization: 'Bearerlk_at_a' }]) {
    expect(await readRefusal(await guard(requestWith(headers)))).toEqual({
      status: 401,
      challenge: 'Bearer realm="latchkey"',
      body: { error: 'invalid_token', error_description: 'This request requires an access token.' },
    });
  }
  expect(guard.verified).toEqual([]);
});

test('a token that is inactive or malformed is 401 invalid_token', async () => {
  const guard = guardOf();
  for (const authorization of [
    'Bearer lk_at_b',
    'Bearer',
    'Bearer ',
    'Bearer lk_at_a, Bearer lk_at_a',
    'Bearer a b',
  ]) {
    expect(await readRefusal(await guard(requestWith({ Authorization: authorization })))).toEqual({
      status: 401,
      challenge: `Bearer realm="latchkey", error="invalid_token", error_description="${invalidToken}"`,
      body: { error: 'invalid_token', error_description: invalidToken },
    });
  }
});

test('the scheme is case-insensitive and the caller is everything the service says', async () => {
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
  const caller = await guardOf(members)(requestWith({ Authorization: 'bEARER  lk_at_a' }));
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

test('a token without optional members makes a caller without them, and without scope', async () => {
  const caller = await callerWith({});
  expect(caller).toMatchObject({
    tokenUse: 'access_token',
    scopes: [],
    amr: [],
    within: [],
    organizationsTruncated: false,
  });
  const absent = ['audience', 'authTime', 'acr', 'name', 'email', 'emailVerified', 'organizations', 'actor'];
  for (const member of absent) expect([member, caller[member as keyof Caller]]).toEqual([member, undefined]);
  expect(caller.hasScope('projects:read')).toBe(false);
});

test('a key is accepted, and a service that acts for itself is not taken for a user', async () => {
  expect(await callerWith({ token_use: 'key', sid: 'key_a' })).toMatchObject({
    kind: 'user',
    tokenUse: 'key',
    sessionId: 'key_a',
  });
  const service = { kind: 'service', subject: 'svc_a', sessionId: undefined };
  expect(await callerWith({ sub: 'svc_a' })).toMatchObject(service);
});

test('roles are found by slug and by ID, and only in organizations of the caller', async () => {
  const caller = await callerWith({
    organizations: [
      { id: 'org_a', slug: 'acme', role: 'admin' },
      { id: 'org_b', slug: 'bolt', role: 'member' },
    ],
  });
  expect(['acme', 'org_b', 'other', ''].map((organization) => caller.roleIn(organization))).toEqual([
    'admin',
    'member',
    undefined,
    undefined,
  ]);
  expect((await callerWith({})).roleIn('acme')).toBeUndefined();
});

test('every scope of the route is needed, compared whole; * holds all of them', async () => {
  const requirements = { scopes: ['projects:read', 'projects:write'] };
  for (const scope of ['projects:write projects:read', '*', 'x  * y'])
    await callerWith({ scope }, requirements);
  const insufficient = [undefined, '', 'projects:read', 'projects:writer projects:read', '*:read projects:*'];
  for (const scope of insufficient) {
    const members = scope === undefined ? {} : { scope };
    expect(await refusalWith(members, requirements)).toEqual({
      status: 403,
      challenge:
        'Bearer realm="latchkey", error="insufficient_scope", error_description="This request requires a token with the scope projects:read projects:write.", scope="projects:read projects:write"',
      body: {
        error: 'insufficient_scope',
        error_description: 'This request requires a token with the scope projects:read projects:write.',
      },
    });
  }
});

test('a route can require the scope *, which no narrower token holds', async () => {
  await callerWith({ scope: '*' }, { scopes: ['*'] });
  expect((await refusalWith({ scope: 'projects:read' }, { scopes: ['*'] })).status).toBe(403);
});

test('a sign-in that is older than the route allows, or not known, is 401 with max_age', async () => {
  const requirements = { maxAgeSeconds: 900 };
  for (const auth_time of [now - 900, now, now + 30]) await callerWith({ auth_time }, requirements);
  for (const members of [{ auth_time: now - 901 }, {}, { token_use: 'key' as const }]) {
    expect(await refusalWith(members, requirements)).toEqual({
      status: 401,
      challenge:
        'Bearer realm="latchkey", error="insufficient_user_authentication", error_description="This request requires a recent sign-in.", max_age="900"',
      body: {
        error: 'insufficient_user_authentication',
        error_description: 'This request requires a recent sign-in.',
      },
    });
  }
});

test('a sign-in of another kind than the route requires is 401 with acr_values', async () => {
  const requirements = { acr: ['phrh', 'phr'] };
  await callerWith({ acr: 'phr' }, requirements);
  for (const members of [{ acr: 'other' }, {}]) {
    expect((await refusalWith(members, requirements)).challenge).toBe(
      'Bearer realm="latchkey", error="insufficient_user_authentication", error_description="This request requires another kind of sign-in.", acr_values="phrh phr"',
    );
  }
  expect((await refusalWith({}, { ...requirements, maxAgeSeconds: 60 })).challenge).toEndWith(
    'max_age="60", acr_values="phrh phr"',
  );
  expect((await refusalWith({ acr: 'phr' }, { ...requirements, maxAgeSeconds: 60 })).status).toBe(401);
  expect((await refusalWith({ auth_time: now }, { ...requirements, maxAgeSeconds: 60 })).status).toBe(401);
});

test('authorization details of a type that the program does not heed are refused with 403', async () => {
  const authorization_details = [{ type: 'deployment', environment: 'staging' }, { type: 'session' }];
  const caller = await callerWith({ authorization_details }, { heeds: ['session', 'deployment'] });
  expect(caller.authorizationDetails).toEqual(authorization_details);
  await callerWith({ authorization_details: [] });
  for (const heeds of [undefined, [], ['deployment'], ['Deployment', 'session']]) {
    const { status, challenge, body } = await refusalWith(
      { authorization_details, scope: '*' },
      heeds === undefined ? {} : { heeds },
    );
    expect([status, body.error]).toEqual([403, 'insufficient_scope']);
    expect(challenge).toStartWith('Bearer realm="latchkey", error="insufficient_scope", error_description="');
    expect(challenge).not.toContain('scope="');
  }
});

test('a missing scope is reported before an old sign-in', async () => {
  const requirements = { scopes: ['projects:write'], maxAgeSeconds: 60 };
  expect((await refusalWith({}, requirements)).body.error).toBe('insufficient_scope');
});

test('a service that cannot be asked is 503 with Retry-After, and is reported', async () => {
  const failures: [LatchkeyErrorCode, number | undefined, string][] = [
    ['unreachable', undefined, '5'],
    ['timeout', undefined, '5'],
    ['temporarily_unavailable', 7, '7'],
    ['rate_limited', 30, '30'],
    ['not_latchkey', undefined, '5'],
    ['invalid_client', undefined, '5'],
  ];
  for (const [code, retryAfterSeconds, expected] of failures) {
    const error = new LatchkeyError(code, 'of the service', { retryAfterSeconds });
    const verify = () => Promise.reject(error);
    const reported: LatchkeyError[] = [];
    const guard = createGuard({
      verifier: { verify, issuer },
      onUnavailable: (failure) => reported.push(failure),
    });
    const response = await guard(requestWith());
    expect(response instanceof Response && response.headers.get('Retry-After')).toBe(expected);
    expect(await readRefusal(response)).toEqual({
      status: 503,
      challenge: null,
      body: {
        error: 'temporarily_unavailable',
        error_description: 'The access token could not be verified. Try again shortly.',
      },
    });
    expect(reported).toEqual([error]);
    expect((await createGuard({ verifier: { verify, issuer } })(requestWith())) instanceof Response).toBe(
      true,
    );
  }
});

test('an error that is not from the service is thrown', async () => {
  const guard = createGuard({ verifier: { verify: () => Promise.reject(new Error('a defect')), issuer } });
  await expect(guard(requestWith())).rejects.toThrow('a defect');
});

test('the body names the request by its X-Request-Id, if that is one', async () => {
  const guard = guardOf();
  const idOf = async (id: string) =>
    (await readRefusal(await guard(requestWith({ 'X-Request-Id': id })))).body.request_id;
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
});
