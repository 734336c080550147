import { beforeAll, expect, test } from 'bun:test';
import { gzipSync } from 'node:zlib';
import type { Endpoint } from '@latchkey/contract/endpoint';
import { endpoints } from '@latchkey/contract/endpoints';
import { errorMeanings } from '@latchkey/contract/errors';
import { ownScopes } from '@latchkey/contract/scopes';
import { Ajv2020 } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { openApp } from '../../../../../../tests/support/app.ts';
import { shared } from '../../../../../../tests/support/shared.ts';

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

const app = shared(() => openApp('sqlite'));
// biome-ignore lint/suspicious/noExplicitAny: a test looks into any document
let document: any;
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

test('the reference and the API document explain what a refresh without an Idempotency-Key costs', () => {
  const { description } = document.paths['/api/v1/auth/refresh'].post;
  for (const text of [description, sectionOf('refresh')]) {
    expect(text).toContain('Without a key, a lost response means that the user has to sign in again');
    expect(text).toContain('store both before sending the request');
  }
});

test('the overview explains every scope of the service itself, and each section names those that it needs', () => {
  const overview = textOf(page);
  for (const [name, sentence] of Object.entries(ownScopes)) {
    expect(overview).toContain(name);
    expect(overview).toContain(sentence);
  }
  expect(sectionOf('getProfile')).toContain('A token needs the scope profile or email.');
  expect(sectionOf('listSessions')).toContain('A token needs the scope *.');
  expect(sectionOf('revoke')).toContain(
    'A token needs the scope *, except to end only its own session. As a form, it needs only the token in the body.',
  );
});

test('the overview explains every error code', () => {
  const overview = textOf(page);
  for (const [code, meaning] of Object.entries(errorMeanings)) {
    expect(overview).toContain(code);
    expect(overview).toContain(meaning.replaceAll('`', ''));
  }
});

test('every endpoint is in the API document, with its credentials, bodies and errors', () => {
  for (const endpoint of all) {
    const { id, method, path, access, body, form, status, createdStatus, response, errors } = endpoint;
    const { takesServiceKey = false, takesCredential = false } = endpoint;
    const operation = document.paths[path][method];
    expect(operation.operationId).toBe(id);
    expect([id, operation.security.length > 0]).toEqual([
      id,
      access !== 'anyone' || takesServiceKey || takesCredential,
    ]);
    expect([id, operation.security.some((one: object) => Object.keys(one).length === 0)]).toEqual([
      id,
      access === 'optional' ||
        (access === 'bearer' && form !== undefined) ||
        (access === 'anyone' && (takesServiceKey || takesCredential)),
    ]);
    const types = Object.keys(operation.requestBody?.content ?? {});
    expect([id, types.includes('application/json')]).toEqual([id, body !== undefined]);
    expect([id, types.includes('application/x-www-form-urlencoded')]).toEqual([id, form !== undefined]);
    expect([id, operation.responses[status].content !== undefined]).toEqual([id, response !== undefined]);
    const descriptions = Object.values<{ description: string }>(operation.responses).map(
      ({ description }) => description,
    );
    const names = (operation.parameters ?? []).map(({ name }: { name: string }) => name);
    const isCached = method === 'get' && names.includes('If-None-Match');
    expect([id, '304' in operation.responses]).toEqual([id, isCached]);
    expect([id, '201' in operation.responses]).toEqual([id, status === 201 || createdStatus === 201]);
    const takesUser = access !== 'anyone' && access !== 'service';
    expect([id, names.includes('Latchkey-User')]).toEqual([id, takesUser || takesCredential]);
    const expected = [
      ...Object.keys(errors),
      ...(takesUser ? ['invalid_request', 'precondition_failed'] : []),
    ];
    for (const error of expected)
      expect([id, descriptions.join(', ').split(', ')]).toEqual([id, expect.arrayContaining([error])]);
  }
  for (const path of documents) expect(document.paths[path].get.summary).toBeString();
});

test('every operation of the API document is in the reference, with its fields, errors and examples', () => {
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into any document
  for (const [path, operations] of Object.entries<any>(document.paths)) {
    // biome-ignore lint/suspicious/noExplicitAny: a test looks into any document
    for (const [method, operation] of Object.entries<any>(operations)) {
      if (method === 'head') continue;
      const section = sectionOf(operation.operationId);
      expect(section).toContain(path);
      expect(section).toContain(operation.summary);
      expect(section).toContain(`curl ${method === 'get' ? '' : `-X ${method.toUpperCase()} `}'`);
      for (const { name } of operation.parameters ?? []) expect(section).toContain(name);
      const bodies = [operation.requestBody, ...Object.values<{ description: string }>(operation.responses)];
      for (const body of bodies.filter((one) => !/^[a-z_]+(, |$)/.test(one?.description ?? '')))
        for (const { name, description } of membersOf(body)) {
          expect([path, section]).toEqual([path, expect.stringContaining(name)]);
          if (description)
            expect([path, section]).toEqual([path, expect.stringContaining(description.replaceAll('`', ''))]);
        }
      for (const [status, { description }] of Object.entries<{ description: string }>(operation.responses))
        if (Number(status) >= 400)
          for (const code of description.split(', ')) expect(section).toContain(code);
    }
  }
});

test('an error has the meaning that it has at this endpoint', () => {
  expect(sectionOf('deleteAccount')).toContain('The user is the only owner of an organization.');
  expect(sectionOf('createKey')).toContain('The account has reached its limit of active keys.');
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
