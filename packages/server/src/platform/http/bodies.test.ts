// Invalid bodies and queries of every kind.

import { expect, test } from 'bun:test';
import type { Endpoint } from '@latchkey/contract/endpoint';
import { endpoints } from '@latchkey/contract/endpoints';
import { fieldLimits } from '@latchkey/contract/field-limits';
import { serviceRights } from '@latchkey/contract/scopes';
import { z } from 'zod';
import { outcome } from '#support/account.ts';
import { type Answer, type Ask, openApp, type TestApp } from '#support/app.ts';
import { createOrganization, declareService } from '#support/services.ts';
import { fresh } from '#support/shared.ts';

const t = fresh(() => openApp('sqlite'));

const all: readonly Endpoint[] = Object.values(endpoints);
const withBody = all.filter(
  // An identity token needs a scope of runs, which is checked before the body.
  (endpoint) => endpoint.body && endpoint !== endpoints.issueIdToken,
);
const pathOf = (endpoint: Endpoint): string => endpoint.path.replace(/\{\w+\}/g, 'ses_x').slice(1);
const send = (t: TestApp, endpoint: Endpoint, ask: Ask): Promise<Answer> =>
  t.ask(endpoint.method.toUpperCase(), pathOf(endpoint), ask);
/** Its parameters have errors of their own. */
const { verifyAuthorization, approveAuthorization, denyAuthorization } = endpoints;
const authorization: readonly Endpoint[] = [verifyAuthorization, approveAuthorization, denyAuthorization];
/** These have errors of their own, too. */
const otherwiseChecked = ['authorization_details', 'passkey', 'trust'];
const json = { 'Content-Type': 'application/json' };
const form = { 'Content-Type': 'application/x-www-form-urlencoded' };

/** The part of a JSON Schema that the tests read. */
interface Schema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly type?: string;
  readonly anyOf?: readonly Schema[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Schema;
  readonly maxItems?: number;
  readonly examples?: readonly unknown[];
}

interface Field {
  readonly endpoint: Endpoint;
  /** With the names of the objects around it. */
  readonly name: string;
  readonly schema: Schema;
  readonly types: readonly (string | undefined)[];
  readonly isRequired: boolean;
  /** A body that is valid, but for what this member is; without it if it is undefined. */
  bodyWith(value: unknown): object;
}

/** A valid value. */
const exampleOf = ({ examples, const: only, properties = {}, required = [] }: Schema): unknown =>
  examples?.[0] ?? only ?? Object.fromEntries(required.map((name) => [name, exampleOf(properties[name]!)]));

/** The members of an object, and of those within it, but those that refuse any value, or are not checked as the others are. */
function* fieldsIn(
  endpoint: Endpoint,
  { properties = {}, required = [] }: Schema,
  around: Pick<Field, 'name' | 'bodyWith'> = { name: '', bodyWith: (body) => body as object },
): Generator<Field> {
  for (const [name, schema] of Object.entries(properties)) {
    const kinds = schema.anyOf ?? [schema];
    const types = kinds.map(({ type }) => type);
    if (otherwiseChecked.includes(name) || !types.some((type) => type !== undefined && type !== 'null'))
      continue;
    const others = required.filter((other) => other !== name);
    const rest = Object.fromEntries(others.map((other) => [other, exampleOf(properties[other]!)]));
    const field = {
      name: around.name === '' ? name : `${around.name}.${name}`,
      bodyWith: (value: unknown) => around.bodyWith({ ...rest, [name]: value }),
    };
    const limits = kinds.find(({ type }) => type !== 'null');
    yield {
      endpoint,
      ...field,
      schema: { ...schema, ...limits },
      types,
      isRequired: required.includes(name),
    };
    yield* fieldsIn(endpoint, schema, field);
  }
}

/** A schema without references. */
function schemaOf(body: z.ZodType): Schema {
  const schema = z.toJSONSchema(body, { io: 'input', unrepresentable: 'any' }) as Schema;
  return JSON.parse(JSON.stringify(schema), (_, part) =>
    part?.$ref === undefined ? part : schema.$defs?.[part.$ref.split('/').at(-1)],
  );
}

const fields: readonly Field[] = withBody
  .filter((endpoint) => !authorization.includes(endpoint))
  .flatMap((endpoint) => {
    const schema = schemaOf(endpoint.body!);
    return (schema.anyOf ?? [schema]).flatMap((one) => [...fieldsIn(endpoint, one)]);
  });

/** Expects an error that names the field, or an entry of the list that it is, and says this. */
function expectRefused(answer: Answer, field: string, says = /: /): void {
  expect([field, answer.status, answer.body.error]).toEqual([field, 400, 'invalid_request']);
  // Plain words, not those of the library that checks.
  expect(answer.body.error_description).not.toMatch(/Invalid|expected|received|Too /);
  expect(answer.body.error_description.replace(/(\.\d+)?: .*/s, '')).toBe(field);
  expect(answer.body.error_description).toMatch(says);
}

/** Values that a member must refuse, by its schema and by its name. */
function wrongFor({ endpoint, name, schema, types }: Field): unknown[] {
  const isAllowed = (type: string) =>
    types.includes(type) || (type === 'number' && types.includes('integer'));
  const wrong = typed.filter(([type]) => !isAllowed(type)).map(([, value]) => value);
  const { const: only, minLength = 0, items } = schema;
  if (only !== undefined) wrong.push('another');
  if (types.includes('integer')) wrong.push(0.5);
  if (types.includes('string') && minLength > 0) wrong.push('');
  // A link only compares it.
  if (/(^|_)email$/.test(name) && endpoint !== endpoints.verifyMagicLink)
    wrong.push('', 'x', 'a@b\r\nBcc: c@d', 'v%evil.example@mail.com');
  if (name === 'name') wrong.push('', ' ', 'a\nb', 'a\u0007b');
  if (items?.type === 'string') wrong.push([7], [[]], ['x'.repeat((items.maxLength ?? 0) + 1)]);
  if (items?.minLength) wrong.push(['']);
  return wrong;
}

/** Values beyond the limits of a member, with the words that say so. */
function* beyondLimitsOf({ schema }: Field): Generator<[value: unknown, says: RegExp]> {
  const { maxLength = fieldLimits.bodyBytes, minimum, maximum, maxItems } = schema;
  const [least, most] = ['(?:at least|from)', '(?:at most|to)'];
  if (maxLength < fieldLimits.bodyBytes)
    yield ['x'.repeat(maxLength + 1), RegExp(`${most} ${maxLength} characters`)];
  if (minimum !== undefined) yield [minimum - 1, RegExp(`${least} ${minimum}\\b`)];
  if (maximum !== undefined) yield [maximum + 1, RegExp(`${most} ${maximum}\\b`)];
  if (maxItems !== undefined) yield [Array(maxItems + 1).fill('x'), RegExp(`${most} ${maxItems} entries`)];
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

test.each<['maxLength' | 'minLength', string[]]>([
  ['maxLength', ['role', 'reader']],
  ['minLength', ['scope', 'resource', 'response.userHandle', 'role', 'reader']],
])(
  'every string has a %s, except those that are one of few words or have errors of their own',
  (limit, free) => {
    const isFree = ({ types, schema }: Field) =>
      types.includes('string') && !schema[limit] && schema.const === undefined;
    expect([...new Set(fields.filter(isFree).map(({ name }) => name))]).toEqual(free);
  },
);

/** Sends requests to an endpoint as somebody who may call it. */
async function callersOf(t: TestApp): Promise<(endpoint: Endpoint, ask: Ask) => Promise<Answer>> {
  const { access_token: token } = await t.login();
  const authorization = await t.serviceAuthorization(...serviceRights);
  return (endpoint, ask) =>
    send(t, endpoint, {
      ...ask,
      ...(endpoint.access === 'service'
        ? { headers: { ...ask.headers, Authorization: authorization } }
        : { token }),
    });
}

test('every member of every body refuses other types and what is beyond its limits, and the error names it', async () => {
  const call = await callersOf(await openApp('sqlite'));
  expect(fields.length).toBeGreaterThan(75);
  for (const field of fields) {
    const { endpoint, name, isRequired, bodyWith } = field;
    const ask = (value: unknown) => call(endpoint, { json: bodyWith(value) });
    for (const value of wrongFor(field)) expectRefused(await ask(value), name);
    for (const [value, says] of beyondLimitsOf(field)) expectRefused(await ask(value), name, says);
    if (isRequired) expectRefused(await ask(undefined), name, /: is required$/);
    if (field.types.includes('object')) continue;
    // An object that is asked for its length.
    const odd = await ask({ length: { toString: 'x' } });
    expect([name, outcome(odd)]).toEqual([name, '400 invalid_request']);
  }
});

/** The examples of each form, with each of its parameters in turn replaced or added. */
const formsWith = (text: string) =>
  all.flatMap((endpoint) => {
    const schema = endpoint.form ? schemaOf(endpoint.form) : {};
    const requests = (schema.examples ?? [exampleOf(schema)]) as object[];
    return Object.keys(schema.properties ?? {}).flatMap((name) =>
      requests.map((request) => ({ endpoint, form: { ...request, [name]: text } })),
    );
  });

test('no text in a body causes a 5xx, even one that PostgreSQL cannot store', async () => {
  const t = await openApp('postgres');
  const { authorization } = await declareService(t.ctx, { rights: serviceRights });
  const asService = { headers: { Authorization: authorization } };
  for (const { endpoint, form } of formsWith('key_\u0000'))
    for (const by of [{}, asService]) {
      const { status } = await send(t, endpoint, { ...by, form });
      expect([endpoint.id, form, status < 500]).toEqual([endpoint.id, form, true]);
    }
  for (const { endpoint, name, bodyWith } of fields.filter(({ types }) => types.includes('string'))) {
    // An accepted request may end the session.
    const call = await callersOf(t);
    for (const text of ['a\u0000b', '\u0000', 'a\ud800b', '\udfff', '\ufffe', '\u{10ffff}']) {
      const { status } = await call(endpoint, { json: bodyWith(text) });
      expect([name, text, status < 500]).toEqual([name, text, true]);
    }
  }
});

test('a string of the maximum length is stored in full, counted in characters', async () => {
  const { access_token: token } = await t.login();
  for (const long of ['x', '\u{1F680}'].map((one) => one.repeat(fieldLimits.clientText))) {
    const json = { client_name: long, device_name: long };
    const { user_code } = (await t.ask('POST', '/device', { json })).body;
    const seen = await t.ask('POST', '/device/verify', { json: { user_code }, token });
    expect([seen.body.client_name, seen.body.device_name]).toEqual([long, long]);
  }
});

test('a body that is not a JSON object is 400 at every endpoint, and so is a form where there is no form dialect', async () => {
  const call = await callersOf(t);
  const bodies = [
    ...['null', '[]', '[{}]', '1', '"x"', 'true', '{', ' ', '{}{}', '{"a":1}\u0000', '"\\ud8', 'NaN'],
    ...['{"a":}', '{a:1}', "{'a':1}", '{"a":1,}', '[{"a":'.repeat(9_000)],
    ...['['.repeat(30_000), `${'['.repeat(30_000)}${']'.repeat(30_000)}`],
  ];
  for (const endpoint of withBody) {
    for (const raw of bodies) {
      const answer = await call(endpoint, { headers: json, raw });
      const what = [endpoint.id, raw.slice(0, 20)];
      expect([...what, outcome(answer)]).toEqual([...what, '400 invalid_request']);
    }
    if (endpoint.form) continue;
    const answer = await call(endpoint, { form: { email: 'a@example.com', token: 'x' } });
    expect([endpoint.id, outcome(answer)]).toEqual([endpoint.id, '415 unsupported_media_type']);
  }
});

test('a body of 65,536 bytes is accepted and one of 65,537 refused at every endpoint, with and without Content-Length', async () => {
  // A request for the feed would wait for an event.
  const [start, end] = ['{"returnImmediately":true,"x":"', '"}'];
  for (const endpoint of withBody)
    for (const bytes of [65_536, 65_537]) {
      const text = start + 'x'.repeat(bytes - start.length - end.length) + end;
      for (const sent of [
        { raw: text, headers: { ...json, 'Content-Length': `${Buffer.byteLength(text)}` } },
        { raw: new Blob([text]).stream(), headers: json },
      ]) {
        // An accepted request may end the session.
        const { status, body } = await (await callersOf(t))(endpoint, sent);
        const isTooLarge = status === 413 && body.error === 'payload_too_large';
        expect([endpoint.id, bytes, isTooLarge]).toEqual([endpoint.id, bytes, bytes > 65_536]);
      }
    }
});

test('every endpoint refuses other media types, and accepts its own with parameters and in any case', async () => {
  const call = await callersOf(t);
  const others = [
    '',
    'text/plain',
    'application/xml',
    'application/jsonx',
    'multipart/form-data; boundary=x',
  ];
  // A body that is invalid shows that its type was accepted, and does nothing.
  const own = ['', '; charset=UTF-8', ' ;x=y'].map((suffix) => `Application/JSON${suffix}`);
  const patch = 'application/merge-patch+json';
  for (const endpoint of withBody)
    for (const type of [...others, ...own, patch]) {
      const answer = await call(endpoint, { headers: { 'Content-Type': type }, raw: '{' });
      const isOwn = own.includes(type) || (type === patch && endpoint.method === 'patch');
      const expected = isOwn ? '400 invalid_request' : '415 unsupported_media_type';
      expect([endpoint.id, type, outcome(answer)]).toEqual([endpoint.id, type, expected]);
    }
});

test('a path with a malformed id is 404, even with characters that a database cannot store, and 400 where it would be made', async () => {
  const call = await callersOf(await openApp('postgres'));
  for (const endpoint of all.filter(({ path }) => path.includes('{'))) {
    const sent = endpoint.body ? { json: exampleOf(schemaOf(endpoint.body)) } : {};
    for (const id of ['%00', 'ses_%00', 'x%20y', `pk_${'x'.repeat(23)}`]) {
      const path = endpoint.path.replace(/\{\w+\}/g, id);
      const expected = endpoint === endpoints.putOrganization ? '400 invalid_request' : '404 not_found';
      expect([path, outcome(await call({ ...endpoint, path }, sent))]).toEqual([path, expected]);
    }
  }
});

test('every list refuses an invalid limit or cursor, and the error names it', async () => {
  const call = await callersOf(t);
  const { id } = (await call(endpoints.getProfile, {})).body;
  await createOrganization(t.ctx, 'acme', 'Acme');
  const cursorOf = (text: string) => Buffer.from(text).toString('base64url');
  const pair = cursorOf('1:x');
  const wrong = [cursorOf("1:' OR 1=1--"), cursorOf('9999999999999999999:a'), 'A'.repeat(257)];
  const cursors = [...wrong, '', 'x', '%00', 'MTIz', `${pair}A`, `${pair}%3D`, `${pair}&cursor=${pair}`];
  const limits = ['0', '101', '-1', '1.5', '', '01', 'x', '1e1', '%2010', '9999999999', '1&limit=2', '0x10'];
  const bad = [
    ...limits.map((limit) => ['limit', `limit=${limit}`] as const),
    ...cursors.map((cursor) => ['cursor', `cursor=${cursor}`] as const),
  ];
  const lists = all.filter(({ query }) => query && 'cursor' in query.shape);
  expect(lists.length).toBeGreaterThan(6);
  for (const list of lists) {
    const path = list.path.replace('{user_id}', id).replace('{slug}', 'acme');
    const ask = (query: string) => call({ ...list, path: `${path}?${query}` }, {});
    for (const [name, query] of bad) {
      const answer = await ask(query);
      expect([path, query, outcome(answer)]).toEqual([path, query, '400 invalid_request']);
      expect(answer.body.error_description).toStartWith(`${name}: `);
    }
    expect([path, outcome(await ask('limit=100&other=1'))]).toEqual([path, '200']);
  }
});

test('every POST validates its body, and one that requires a body refuses none', async () => {
  // OpenID Connect Core section 5.3.1 sends userinfo requests without a body.
  const blind = all.filter((e) => e.method === 'post' && !e.body && e !== endpoints.postUserinfo);
  expect(blind).toEqual([]);
  const call = await callersOf(t);
  for (const endpoint of withBody.filter((e) => !e.bodyOptional))
    expect([endpoint.id, outcome(await call(endpoint, {}))]).toEqual([endpoint.id, '400 invalid_request']);
  const isOptional = (e: Endpoint) => e.bodyOptional && e.method === 'post' && e.access !== 'service';
  for (const endpoint of withBody.filter(isOptional)) {
    // It may end the session.
    const { status } = await send(t, endpoint, { token: (await t.login()).access_token });
    expect([endpoint.id, status]).toEqual([endpoint.id, endpoint.status]);
  }
});

// tests/hostile/parsers.test.ts has duplicate members of every spelling and depth.
test('a duplicate member or form parameter is 400 and the error names it, even escaped or encoded', async () => {
  const members: [string, string][] = [
    ['email', '{"email":"a@example.com","\\u0065mail":"b@example.com"}'],
    ['__proto__', '{"email":"a@example.com","__proto__":1,"__proto__":2}'],
  ];
  const parameters: [string, string][] = [
    ['token', 'token=a&t%6fken=a'],
    ['x', 'x=1&token=a&x=1'],
    ['__proto__', '__proto__=1&__proto__=2&token=a'],
    ['a?b', 'a+b=1&a%20b=2&token=a'],
  ];
  const requests = [
    ...members.map((member) => ['/magic_link', json, ...member] as const),
    ...['/revoke', '/token', '/refresh'].flatMap((path) =>
      parameters.map((parameter) => [path, form, ...parameter] as const),
    ),
  ];
  for (const [path, headers, name, raw] of requests) {
    const { status, body } = await t.ask('POST', path, { raw, headers });
    expect([path, raw, status, body.error_description]).toEqual([path, raw, 400, `${name}: appears twice`]);
  }
  const once = '{"email":"a@example.com","y":{"email":1},"Email":"b@example.com","z":"\\"email\\":"}';
  expect((await t.ask('POST', '/magic_link', { raw: once, headers: json })).status).toBe(202);
  const own = { raw: '__proto__=1&constructor=2&token=a', headers: form };
  expect(outcome(await t.ask('POST', '/revoke', own))).toBe('200');
});

test('bytes that are not UTF-8 are 400, in JSON and in forms, and so are invalid escapes', async () => {
  const refused = async (path: string, raw: BodyInit, headers: Record<string, string>) =>
    expect([raw, outcome(await t.ask('POST', path, { raw, headers }))]).toEqual([raw, '400 invalid_request']);
  for (const hex of ['ff', 'c328', 'eda080', 'f4908080', 'c0af', 'e282']) {
    const within = (before: string, after: string) =>
      Buffer.concat([Buffer.from(before), Buffer.from(hex, 'hex'), Buffer.from(after)]);
    await refused('/magic_link', within('{"email":"a@example.com","x":"', '"}'), json);
    await refused('/revoke', within('token=', ''), form);
  }
  for (const raw of ['device_name=%ff', 'device_name=%c3', 'device_name=100%', 'device_name=%zz', '%ff=a'])
    await refused('/device', raw, form);
  const whole = await t.ask('POST', '/device', { raw: 'device_name=Gr%C3%BCn+100%25', headers: form });
  expect(outcome(whole)).toBe('200');
});

test('unknown members are ignored, even nested ones and those named like members of Object.prototype', async () => {
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
