// Invalid bodies and queries of every kind.

import { expect, test } from 'bun:test';
import type { Endpoint } from '@latchkey/contract/endpoint';
import { endpoints } from '@latchkey/contract/endpoints';
import { fieldLimits } from '@latchkey/contract/field-limits';
import { serviceRights } from '@latchkey/contract/scopes';
import { z } from 'zod';
import {
  type Answer,
  type Ask,
  onBothDatabases,
  openApp,
  type TestApp,
} from '../../../../../tests/support/app.ts';
import fc from '../../../../../tests/support/fc.ts';
import { createOrganization } from '../../../../../tests/support/organizations.ts';

const withBody: readonly Endpoint[] = (Object.values(endpoints) as Endpoint[]).filter(
  // An identity token needs a scope of runs, which is checked before the body.
  (endpoint) => endpoint.body && endpoint !== endpoints.issueIdToken,
);
const pathOf = (endpoint: Endpoint): string => endpoint.path.replace(/\{\w+\}/g, 'ses_x').slice(1);
const send = (t: TestApp, endpoint: Endpoint, ask: Ask): Promise<Answer> =>
  t.ask(endpoint.method.toUpperCase(), pathOf(endpoint), ask);
/** Its parameters have errors of their own. */
const authorization: readonly Endpoint[] = [
  endpoints.verifyAuthorization,
  endpoints.approveAuthorization,
  endpoints.denyAuthorization,
];
/** These have errors of their own, too. */
const otherwiseChecked = ['authorization_details', 'passkey', 'trust'];
const json = { 'Content-Type': 'application/json' };
const form = { 'Content-Type': 'application/x-www-form-urlencoded' };

/** The part of a JSON Schema that the tests read. */
interface Schema {
  readonly type?: string;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly examples?: readonly unknown[];
}

interface Field {
  readonly endpoint: Endpoint;
  readonly name: string;
  readonly types: readonly (string | undefined)[];
  readonly isRequired: boolean;
  readonly min: number;
  /** If the contract says so. */
  readonly max: number | undefined;
  /** What else a valid body needs. */
  readonly rest: Readonly<Record<string, unknown>>;
}

/** Every member of every body, but those that refuse any value, or are not checked as the others are. */
const fields: readonly Field[] = withBody.flatMap((endpoint) => {
  const schema = z.toJSONSchema(endpoint.body!, { io: 'input', unrepresentable: 'any' }) as Schema;
  return (schema.anyOf ?? [schema]).flatMap(({ properties = {}, required = [] }) =>
    Object.entries(properties)
      .filter(([name]) => !otherwiseChecked.includes(name) && !authorization.includes(endpoint))
      .map(([name, member]): Field => {
        const others = required.filter((other) => other !== name);
        return {
          endpoint,
          name,
          types: (member.anyOf ?? [member]).map(({ type }) => type),
          isRequired: required.includes(name),
          min: member.minLength ?? 0,
          max: member.maxLength,
          rest: Object.fromEntries(others.map((other) => [other, properties[other]!.examples?.[0]])),
        };
      })
      .filter(({ types }) => types.some((type) => type !== undefined && type !== 'null')),
  );
});

function expectRefused(answer: Answer, field: string): void {
  expect([field, answer.status, answer.body.error]).toEqual([field, 400, 'invalid_request']);
  expect(answer.body.error_description).toStartWith(`${field}: `);
}

/** Values of each type of JSON. */
const typed: readonly [string, unknown][] = [
  ['string', 'x'],
  ['number', 1],
  ['number', 0.5],
  ['boolean', true],
  ['boolean', false],
  ['array', []],
  ['array', ['x']],
  ['object', {}],
  ['null', null],
];

test('every string has a limit, except those that are one of few words or have a syntax', () => {
  const unlimited = fields.filter(({ types, max }) => types.includes('string') && max === undefined);
  expect(unlimited.map(({ endpoint, name }) => `${endpoint.id} ${name}`)).toEqual([
    'revoke scope',
    'logout scope',
    'updateProfile avatar_url',
    'updateProfile locale',
    'updateProfile time_zone',
    'putMember role',
    'readFeed reader',
  ]);
});

test('every member of every body refuses other types, and strings that are empty or over its limit, and the error names it', async () => {
  const t = await openApp('sqlite');
  const { access_token: token } = await t.login();
  const service = { headers: { Authorization: await t.serviceAuthorization(...serviceRights) } };
  expect(fields.length).toBeGreaterThan(50);
  for (const { endpoint, name, types, isRequired, min, max, rest } of fields) {
    const who = endpoint.access === 'service' ? service : { token };
    const isAllowed = (type: string) =>
      types.includes(type) || (type === 'number' && types.includes('integer'));
    const wrong = typed.filter(([type]) => !isAllowed(type)).map(([, value]) => value);
    if (types.includes('integer')) wrong.push(0.5);
    if (types.includes('string') && min > 0) wrong.push('');
    if (max !== undefined && max < fieldLimits.bodyBytes) wrong.push('x'.repeat(max + 1));
    // An object that is asked for its length.
    const odd = await send(t, endpoint, { ...who, json: { ...rest, [name]: { length: { toString: 'x' } } } });
    expect([name, odd.status, odd.body.error]).toEqual([name, 400, 'invalid_request']);
    for (const value of wrong)
      expectRefused(await send(t, endpoint, { ...who, json: { ...rest, [name]: value } }), name);
    if (isRequired) expectRefused(await send(t, endpoint, { ...who, json: rest }), name);
  }
});

onBothDatabases('bodies', (open) => {
  test('a string of the maximum length is stored in full', async () => {
    const t = await open();
    const token = (await t.login()).access_token;
    const long = 'x'.repeat(fieldLimits.clientText);
    const started = await t.ask('POST', '/device', { json: { client_name: long, device_name: long } });
    const seen = await t.ask('POST', '/device/verify', {
      json: { user_code: started.body.user_code },
      token,
    });
    expect([seen.body.client_name, seen.body.device_name]).toEqual([long, long]);
    const astral = '\u{1F680}'.repeat(fieldLimits.clientText);
    expect((await t.ask('POST', '/device', { json: { client_name: astral } })).status).toBe(200);
  });
});

test('a body that is not a JSON object is 400 at every endpoint', async () => {
  const t = await openApp('sqlite');
  const token = (await t.login()).access_token;
  const bodies = [
    'null',
    '[]',
    '[{}]',
    '1',
    '"x"',
    'true',
    '{',
    '{"a":}',
    '{a:1}',
    "{'a':1}",
    '{"a":1,}',
    'NaN',
    ' ',
    '{}{}',
  ];
  bodies.push(
    '{"a":1}\u0000',
    '"\\ud8',
    '['.repeat(30_000),
    `${'['.repeat(30_000)}${']'.repeat(30_000)}`,
    '[{"a":'.repeat(9_000),
  );
  const service = { Authorization: await t.serviceAuthorization(...serviceRights) };
  for (const endpoint of withBody) {
    const who =
      endpoint.access === 'service' ? { headers: { ...json, ...service } } : { token, headers: json };
    for (const raw of bodies) {
      const { status, body } = await send(t, endpoint, { ...who, raw });
      expect([endpoint.id, raw.slice(0, 20), status, body.error]).toEqual([
        endpoint.id,
        raw.slice(0, 20),
        400,
        'invalid_request',
      ]);
    }
  }
});

onBothDatabases('identifiers', (open) => {
  test('a path with a malformed id is 404, even with characters that a database cannot store', async () => {
    const t = await open();
    const { access_token: token } = await t.login();
    for (const path of [
      '/sessions/%00',
      '/sessions/ses_%00',
      '/passkeys/%00',
      `/passkeys/pk_${'x'.repeat(23)}`,
    ]) {
      expect([path, (await t.ask('DELETE', path, { token })).status]).toEqual([path, 404]);
    }
    expect((await t.ask('PATCH', '/passkeys/%00', { token, json: { name: 'x' } })).status).toBe(404);
  });
});

test('every list refuses an invalid limit or cursor, and the error names it', async () => {
  const t = await openApp('sqlite');
  const { access_token: token } = await t.login();
  const { id } = await t.api.call('getProfile', { accessToken: token });
  await createOrganization(t.ctx, 'acme', 'Acme');
  const service = { headers: { Authorization: await t.serviceAuthorization(...serviceRights) } };
  const bad = ['0', '101', '-1', '1.5', '', 'x', '1e1', '%2010', '9999999999', '1&limit=2', '0x10'].map(
    (limit) => `limit=${limit}`,
  );
  const pair = Buffer.from('1:x').toString('base64url');
  for (const cursor of [
    '',
    'x',
    'A'.repeat(257),
    '%00',
    'MTIz',
    `${pair}A`,
    `${pair}%3D`,
    `${pair}&cursor=${pair}`,
  ])
    bad.push(`cursor=${cursor}`);
  for (const text of ["1:' OR 1=1--", '9999999999999999999:a'])
    bad.push(`cursor=${Buffer.from(text).toString('base64url')}`);
  const lists = (Object.values(endpoints) as Endpoint[]).filter(
    ({ query }) => query && 'cursor' in query.shape,
  );
  expect(lists.length).toBeGreaterThan(6);
  for (const endpoint of lists) {
    const path = endpoint.path.slice(1).replace('{user_id}', id).replace('{slug}', 'acme');
    const who = endpoint.access === 'service' ? service : { token };
    for (const query of bad) {
      const { status, body } = await t.ask('GET', `${path}?${query}`, who);
      expect([path, query, status, body.error]).toEqual([path, query, 400, 'invalid_request']);
      expect(body.error_description).toStartWith(`${query.split('=')[0]}: `);
    }
    expect([path, (await t.ask('GET', `${path}?limit=100&other=1`, who)).status]).toEqual([path, 200]);
  }
});

test('every POST validates its body, even one without members', () => {
  // OpenID Connect Core section 5.3.1 sends userinfo requests without a body.
  const blind = (Object.values(endpoints) as Endpoint[]).filter(
    (e) => e.method === 'post' && !e.body && e !== endpoints.postUserinfo,
  );
  expect(blind.map(({ id }) => id)).toEqual([]);
});

test('a missing body is 400 where one is required, and the error names what is missing', async () => {
  const t = await openApp('sqlite');
  let token = (await t.login()).access_token;
  const service = { headers: { Authorization: await t.serviceAuthorization(...serviceRights) } };
  for (const endpoint of withBody.filter((e) => !e.bodyOptional)) {
    const { status, body } = await send(t, endpoint, endpoint.access === 'service' ? service : { token });
    expect([endpoint.id, status, body.error]).toEqual([endpoint.id, 400, 'invalid_request']);
  }
  for (const endpoint of withBody.filter(
    (e) => e.bodyOptional && e.method === 'post' && e.access !== 'service',
  )) {
    const { status } = await send(t, endpoint, { token });
    expect([endpoint.id, status]).toEqual([endpoint.id, endpoint.status]);
    token = (await t.login()).access_token;
  }
});

test('a duplicate member is 400 and the error names it, even nested or escaped', async () => {
  const t = await openApp('sqlite');
  const twice: [string, string][] = [
    ['email', '{"email":"a@example.com","email":"b@example.com"}'],
    ['email', '{"email":"a@example.com","email":"a@example.com"}'],
    ['email', '{"email":"a@example.com","\\u0065mail":"b@example.com"}'],
    ['email', '{"\\u0065\\u006dail":1,"e\\u006Dail":"b@example.com"}'],
    ['x', '{"email":"a@example.com","y":{"x":1,"x":2}}'],
    ['x', '{"email":"a@example.com","y":[{"z":"{\\"x\\":"},{"x":[],"x" :{}}]}'],
    ['__proto__', '{"email":"a@example.com","__proto__":1,"__proto__":2}'],
  ];
  for (const [name, raw] of twice) {
    const { status, body } = await t.ask('POST', '/magic_link', { raw, headers: json });
    expect([raw, status, body.error_description]).toEqual([raw, 400, `${name}: appears twice`]);
  }
  const once = [
    '{"email":"a@example.com","y":{"email":1},"z":[{"email":2},{"email":3}]}',
    '{"x":"email","email":"a@example.com","y":"\\"email\\":"}',
    '{"email":"a@example.com","Email":"b@example.com","email ":1}',
    '{"a\\\\":1,"a":"\\\\","email":"a@example.com"}',
  ];
  for (const raw of once)
    expect((await t.ask('POST', '/magic_link', { raw, headers: json })).status).toBe(202);
});

test('a duplicate form parameter is 400 and the error names it, even percent-encoded', async () => {
  const t = await openApp('sqlite');
  for (const raw of [
    'token=a&token=b',
    'token=a&t%6fken=a',
    'x=1&token=a&x=1',
    '__proto__=1&__proto__=2&token=a',
    'a+b=1&a%20b=2&token=a',
  ]) {
    for (const path of ['/revoke', '/token', '/refresh']) {
      const { status, body } = await t.ask('POST', path, { raw, headers: form });
      expect([raw, path, status, body.error]).toEqual([raw, path, 400, 'invalid_request']);
      expect(body.error_description).toEndWith(': appears twice');
    }
  }
  expect(
    (await t.ask('POST', '/revoke', { raw: '__proto__=1&constructor=2&token=a', headers: form })).status,
  ).toBe(200);
});

test('bytes that are not UTF-8 are 400, in JSON and in forms', async () => {
  const t = await openApp('sqlite');
  for (const bytes of [
    [0xff],
    [0xc3, 0x28],
    [0xed, 0xa0, 0x80],
    [0xf4, 0x90, 0x80, 0x80],
    [0xc0, 0xaf],
    [0xe2, 0x82],
  ]) {
    const raw = Buffer.concat([
      Buffer.from('{"email":"a@example.com","x":"'),
      Buffer.from(bytes),
      Buffer.from('"}'),
    ]);
    const answer = await t.ask('POST', '/magic_link', { raw, headers: json });
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_request']);
    const asForm = Buffer.concat([Buffer.from('token='), Buffer.from(bytes)]);
    expect((await t.ask('POST', '/revoke', { raw: asForm, headers: form })).status).toBe(400);
  }
});

test('unknown members are ignored, even nested ones and those named like members of Object.prototype', async () => {
  const t = await openApp('sqlite');
  const deep = `${'{"a":'.repeat(2000)}1${'}'.repeat(2000)}`;
  const members = [
    '"__proto__":{"email":"e@e.example"}',
    '"constructor":{"prototype":{"email":1}}',
    '"toString":1',
    `"x":${deep}`,
  ];
  for (const member of members) {
    const raw = `{"email":"a@example.com",${member}}`;
    expect((await t.ask('POST', '/magic_link', { raw, headers: json })).status).toBe(202);
    const without = await t.ask('POST', '/magic_link', { raw: `{${member}}`, headers: json });
    expectRefused(without, 'email');
  }
  expect(({} as { email?: string }).email).toBeUndefined();
});

test('a form with invalid escapes is 400, not parsed with replacement characters', async () => {
  const t = await openApp('sqlite');
  for (const raw of ['device_name=%ff', 'device_name=%c3', 'device_name=100%', 'device_name=%zz', '%ff=a']) {
    const { status, body } = await t.ask('POST', '/device', { raw, headers: form });
    expect([raw, status, body.error]).toEqual([raw, 400, 'invalid_request']);
  }
  const whole = await t.ask('POST', '/device', { raw: 'device_name=Gr%C3%BCn+100%25', headers: form });
  expect(whole.status).toBe(200);
});

test('only endpoints with a form dialect accept forms', async () => {
  const t = await openApp('sqlite');
  const token = (await t.login()).access_token;
  const service = { Authorization: await t.serviceAuthorization(...serviceRights) };
  for (const endpoint of withBody.filter((e) => !e.form)) {
    const who = endpoint.access === 'service' ? { headers: service } : { token };
    const { status, body } = await send(t, endpoint, {
      ...who,
      form: { email: 'a@example.com', token: 'x' },
    });
    expect([endpoint.id, status, body.error]).toEqual([endpoint.id, 415, 'unsupported_media_type']);
  }
});

/** Values that resemble valid bodies, with errors in one or more places. */
const anyBody = fc.oneof(
  fc.json({ maxDepth: 4 }),
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc
    .dictionary(
      fc.constantFrom(
        'email',
        'token',
        'request',
        'code',
        'device_code',
        'user_code',
        'refresh_token',
        'grant_type',
        'scope',
        'name',
        'avatar_url',
        'locale',
        'time_zone',
        'client_name',
        '__proto__',
        'id',
      ),
      fc.oneof(
        fc.string({ unit: 'binary', maxLength: 80 }),
        fc.jsonValue({ maxDepth: 2 }),
        fc.constantFrom('session', 'lk_rt_x', 'a@example.com', 'UTC', '\u0000', '\ud800'),
      ),
    )
    .map((value) => JSON.stringify(value)),
);
const headerText = fc.string({
  unit: fc.integer({ min: 0x20, max: 0xff }).map((c) => String.fromCharCode(c)),
  maxLength: 150,
});
const anyHeaders = fc.dictionary(
  fc.constantFrom(
    'Content-Type',
    'Authorization',
    'Cookie',
    'Origin',
    'If-Match',
    'Idempotency-Key',
    'X-Request-Id',
    'X-Forwarded-For',
    'User-Agent',
    'Content-Length',
    'Accept',
    'Accept-Language',
  ),
  fc.oneof(
    headerText,
    fc.constantFrom(
      'application/json',
      'application/x-www-form-urlencoded',
      'application/merge-patch+json',
      'Bearer',
      '*',
      'latchkey_session=x',
      'Bearer lk_at_x',
    ),
  ),
);

onBothDatabases('fuzz', (open) => {
  test('no body, header or query causes a 5xx', async () => {
    const t = await open({ settings: { LATCHKEY_TRUSTED_PROXIES: '192.0.2.1' } });
    const token = (await t.login()).access_token;
    const name = fc.constantFrom(...(Object.keys(endpoints) as (keyof typeof endpoints)[]));
    const query = fc.oneof(
      fc.constant(''),
      fc.webQueryParameters().map((text) => `?${text}`),
    );
    await fc.assert(
      fc.asyncProperty(
        name,
        anyBody,
        anyHeaders,
        query,
        fc.boolean(),
        async (id, raw, headers, search, signedIn) => {
          const one: Endpoint = endpoints[id];
          const ends = one === endpoints.revoke || one === endpoints.logout;
          const answer = await t.ask(one.method.toUpperCase(), `${pathOf(one)}${search}`, {
            ...(one.method === 'get' ? {} : { raw }),
            headers: { 'Content-Type': 'application/json', ...headers },
            ...(signedIn && !ends ? { token } : {}),
          });
          if (answer.status >= 500) throw new Error(`${answer.status} ${answer.text}\n${t.logs.at(-2)}`);
          if (answer.status >= 400 && answer.body.request_id === undefined) throw new Error(answer.text);
        },
      ),
      { numRuns: 400 },
    );
  });
});
