import { beforeAll, expect, test } from 'bun:test';
import { gzipSync } from 'node:zlib';
import type { Endpoint } from '@latchkey/contract/endpoint';
import { endpoints } from '@latchkey/contract/endpoints';
import { errorMeanings } from '@latchkey/contract/errors';
import { ownScopes } from '@latchkey/contract/scopes';
import { Ajv2020 } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { type Answer, openApp } from '#support/app.ts';
import { shared } from '#support/shared.ts';

const all: readonly Endpoint[] = Object.values(endpoints);
const documents = [
  '/.well-known/oauth-authorization-server',
  '/.well-known/jwks.json',
  '/.well-known/passkey-endpoints',
  '/.well-known/webauthn',
  '/openapi.json',
  '/docs',
  '/healthz',
  '/readyz',
  '/metrics',
];

type Json = Answer['body'];

const app = shared(() => openApp('sqlite'));
let document: Json;
let page: string;
beforeAll(async () => {
  document = (await app.ask('GET', 'openapi.json')).body;
  page = (await app.ask('GET', 'docs')).text;
});

/** The HTML of the section of one operation. */
function htmlOf(id: string): string {
  const found = [...page.matchAll(new RegExp(`<section id="${id}"[^>]*>([\\s\\S]*?)</section>`, 'g'))];
  expect([id, found.length]).toEqual([id, 1]);
  return found[0]![1]!;
}

const textOf = (html: string): string =>
  html
    .replace(/<wbr>|<\/?span[^>]*>|<\/?code>/g, '')
    .replace(/<[^>]+>/g, ' ')
    .replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));

const sectionOf = (id: string): string => textOf(htmlOf(id));

/** The code of the examples under a heading, in order. */
const examplesOf = (id: string, heading: string): string[] => {
  const [, part = ''] =
    new RegExp(`<h4>${heading}</h4>([\\s\\S]*?)(?=<h4>|</div>\\s*$)`).exec(
      htmlOf(id).split('<div class="examples">')[1]!,
    ) ?? [];
  return [...part.matchAll(/<pre[^>]*><code>([\s\S]*?)<\/code><\/pre>/g)].map(([, code = '']) =>
    textOf(code),
  );
};

test('the overview explains every error code and every scope of the service itself', () => {
  const overview = textOf(page);
  for (const explained of [errorMeanings, ownScopes])
    for (const [name, sentence] of Object.entries(explained)) {
      expect(overview).toContain(name);
      expect(overview).toContain(sentence.replaceAll('`', ''));
    }
});

test.each([
  ['refresh', 'Without a key, a lost response means that the user has to sign in again'],
  ['refresh', 'store both before sending the request'],
  ['getProfile', 'A token needs the scope profile or email.'],
  ['listSessions', 'A token needs the scope *.'],
  ['revoke', 'A token needs the scope *, except to end only its own session.'],
  ['revoke', 'As a form, it needs only the token in the body.'],
  ['deleteAccount', 'The user is the only owner of an organization.'],
  ['createKey', 'The account has reached its limit of active keys.'],
])('the section of %s says: %s', (id, sentence) => {
  expect(sectionOf(id)).toContain(sentence);
});

// What it says of credentials, bodies and statuses is compared with every response of the tests.
test('every endpoint is in the API document, with its errors and the user that it expects', () => {
  for (const { id, method, path, access, takesCredential = false, errors } of all) {
    const operation: Json = document.paths[path][method];
    const takesUser = access !== 'anyone' && access !== 'service';
    const names = (operation.parameters ?? []).map(({ name }: Json) => name);
    expect([operation.operationId, names.includes('Latchkey-User')]).toEqual([
      id,
      takesUser || takesCredential,
    ]);
    const answers = Object.values<Json>(operation.responses);
    const expected = Object.keys(errors);
    if (takesUser) expected.push('invalid_request', 'precondition_failed');
    const declared = answers.flatMap(({ description }) => description.split(', '));
    expect([id, declared]).toEqual([id, expect.arrayContaining(expected)]);
  }
  for (const path of documents) expect(document.paths[path].get.summary).toBeString();
});

test('every operation of the API document is in the reference, with its fields, errors and examples', () => {
  for (const [path, operations] of Object.entries<Json>(document.paths)) {
    for (const [method, operation] of Object.entries<Json>(operations)) {
      if (method === 'head') continue;
      const { operationId, summary, parameters = [], requestBody, responses } = operation;
      const answers = Object.entries<Json>(responses);
      const errors = answers.filter(([status]) => Number(status) >= 400).map(([, answer]) => answer);
      const bodies = [requestBody, ...answers.map(([, answer]) => answer)].filter(
        (one) => !errors.includes(one),
      );
      const members = bodies.flatMap(membersOf);
      const texts = [
        path,
        summary,
        `curl ${method === 'get' ? '' : `-X ${method.toUpperCase()} `}'`,
        ...[...parameters, ...members].map(({ name }) => name),
        ...members.map(({ description = '' }) => description.replaceAll('`', '')),
        ...errors.flatMap(({ description }) => description.split(', ')),
      ];
      const section = sectionOf(operationId);
      expect([operationId, texts.filter((text) => !section.includes(text))]).toEqual([operationId, []]);
    }
  }
});

interface Member {
  readonly name: string;
  readonly description: string | undefined;
}

/** All members that a body may have, without the read-only ones. */
function membersOf(described: unknown): Member[] {
  if (typeof described !== 'object' || described === null) return [];
  const {
    $ref,
    properties = {},
    examples: _,
    ...rest
  } = described as {
    $ref?: string;
    examples?: unknown;
    properties?: Record<string, { readOnly?: boolean; not?: object; description?: string }>;
  };
  if ($ref) return membersOf(document.components.schemas[$ref.split('/').at(-1)!]);
  const own = Object.entries(properties).filter(([, member]) => !member.readOnly && !member.not);
  return [
    ...own.flatMap(([name, member]) => [{ name, description: member.description }, ...membersOf(member)]),
    ...Object.values(rest).flatMap(membersOf),
  ];
}

test('every example call in the reference reaches its endpoint with a valid body', async () => {
  for (const { id, path, method, access, body } of all) {
    const [call = ''] = examplesOf(id, 'Request');
    const [, url = ''] = /'(http[^']+)'/.exec(call)!;
    expect(new URL(url).pathname).toMatch(new RegExp(`^${path.replace(/{\w+}/g, '[\\w-]+')}$`));
    expect([id, call.includes('Authorization: Bearer $ACCESS_TOKEN')]).toEqual([
      id,
      !['anyone', 'service'].includes(access),
    ]);
    expect([id, call.includes('-u "$SERVICE_KEY"')]).toEqual([id, access === 'service']);
    const [, sent] = /-d '([^']+)'/.exec(call) ?? [];
    // Authorization requests need a registered client.
    if (!sent || access === 'service' || /^(verify|approve|deny)Authorization$/.test(id)) continue;
    expect([id, body !== undefined]).toEqual([id, true]);
    const { access_token } = await app.login();
    const answer = await app.ask(method.toUpperCase(), new URL(url).pathname.slice('/api/v1/auth'.length), {
      json: JSON.parse(sent),
      token: access_token,
    });
    expect([id, answer.body?.error]).not.toEqual([id, 'invalid_request']);
  }
});

test('every example response is valid', () => {
  const ajv = new Ajv2020({ strict: true, strictTypes: false });
  addFormats(ajv, ['date-time', 'uri']);
  ajv.addSchema({ $id: 'document', components: document.components }).addVocabulary(['components']);
  for (const { id, path, method, status, response } of all) {
    const examples = examplesOf(id, 'Response');
    expect([id, examples.length > 0]).toEqual([id, true]);
    if (!response) continue;
    const { schema } = document.paths[path][method].responses[status].content['application/json'];
    const validate = ajv.compile(
      JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"document#/components')),
    );
    for (const example of examples)
      expect([id, example, validate(JSON.parse(example))]).toEqual([id, example, true]);
  }
});

test('every link within the reference leads somewhere, and every id is unique', () => {
  const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  for (const [, target] of page.matchAll(/ href="#([^"]+)"/g)) expect(ids).toContain(target);
  for (const { id } of all) expect(page).toContain(`<li><a href="#${id}">`);
});

test('the reference loads only stylesheets and a script of this service, has the headers of every page and a bounded size', async () => {
  const [login, answer] = [await app.ask('GET', 'login'), await app.ask('GET', 'docs')];
  for (const name of ['Content-Security-Policy', 'X-Frame-Options', 'Referrer-Policy', 'Cache-Control'])
    expect([name, answer.headers.get(name)]).toEqual([name, login.headers.get(name)]);
  expect(page).not.toMatch(/ style=|\son\w+=/);
  expect(page.match(/<script/g)).toHaveLength(1);
  expect([...page.matchAll(/(?:src|<link [^>]*href)="([^"]+)"/g)].map(([, url]) => url)).toEqual([
    expect.stringMatching(/^data:image\/svg\+xml,/),
    expect.stringMatching(/^\/assets\/style-\w+\.css$/),
    expect.stringMatching(/^\/assets\/reference-\w+\.css$/),
    expect.stringMatching(/^\/assets\/reference-\w+\.js$/),
  ]);
  expect(gzipSync(page).length).toBeLessThan(100_000);
  const [script = ''] = /\/assets\/[^"]+\.js/.exec(page)!;
  expect(gzipSync((await app.ask('GET', script.slice(1))).text).length).toBeLessThan(15_000);
});
