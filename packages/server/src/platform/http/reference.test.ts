import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import type { Endpoint } from '@latchkey/contract/endpoint';
import { endpoints } from '@latchkey/contract/endpoints';
import { ownScopes } from '@latchkey/contract/scopes';
import { openApp, type TestApp } from '../../../../../tests/support/app.ts';
import { newPage } from '../../../../../tests/support/browser.ts';
import { startService } from '../../../../../tests/support/service.ts';

setDefaultTimeout(30_000);

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

let app: TestApp;
// biome-ignore lint/suspicious/noExplicitAny: a test looks into any document
let document: any;
let page: string;
beforeAll(async () => {
  app = await openApp('sqlite', { settings: { LATCHKEY_RATE_LIMITS: 'off' } });
  document = (await app.ask('GET', 'openapi.json')).body;
  page = (await app.ask('GET', 'docs')).text;
});
afterAll(() => app.close());

/** The text of the section of one operation. */
const sectionOf = (id: string): string => {
  const [, section = ''] = new RegExp(`<section id="${id}">([\\s\\S]*?)</section>`).exec(page) ?? [];
  return section
    .replace(/<wbr>/g, '')
    .replace(/<[^>]+>/g, ' ')
    .replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));
};

test('the reference and the API document explain what a refresh without an Idempotency-Key costs', () => {
  const { description } = document.paths['/api/v1/auth/refresh'].post;
  for (const text of [description, sectionOf('refresh')]) {
    expect(text).toContain('Without a key, a lost response means that the user has to sign in again');
    expect(text).toContain('store both before sending the request');
  }
});

test('the reference explains every scope of the service itself, and each section names those that it needs', () => {
  const [, scopes = ''] = /<table id="scopes">([\s\S]*?)<\/table>/.exec(page) ?? [];
  for (const [name, sentence] of Object.entries(ownScopes)) {
    expect(scopes).toContain(`<code>${name}</code>`);
    expect(scopes).toContain(sentence);
  }
  expect(sectionOf('getProfile')).toContain('A token needs the scope profile or email.');
  expect(sectionOf('listSessions')).toContain('A token needs the scope *.');
  expect(sectionOf('revoke')).toContain(
    'A token needs the scope *, except to end only its own session. As a form, it needs only the token in the body.',
  );
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
    const expected = [...errors, ...(takesUser ? ['invalid_request', 'precondition_failed'] : [])];
    for (const error of expected)
      expect([id, descriptions.join(', ').split(', ')]).toEqual([id, expect.arrayContaining([error])]);
  }
  for (const path of documents) expect(document.paths[path].get.summary).toBeString();
});

test('every operation of the API document is in the reference, with its fields, errors and an example call', () => {
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into any document
  for (const [path, operations] of Object.entries<any>(document.paths)) {
    // biome-ignore lint/suspicious/noExplicitAny: a test looks into any document
    for (const [method, operation] of Object.entries<any>(operations)) {
      if (method === 'head') continue;
      const section = sectionOf(operation.operationId);
      expect(page).toContain(`href="#${operation.operationId}"`);
      expect(section).toContain(`${method.toUpperCase()} `);
      expect(section).toContain(path);
      expect(section).toContain(operation.summary);
      expect(section).toContain(`curl ${method === 'get' ? '' : `-X ${method.toUpperCase()} `}'`);
      for (const { name } of operation.parameters ?? []) expect(section).toContain(name);
      for (const name of membersOf(operation.requestBody))
        expect([path, section]).toEqual([path, expect.stringContaining(name)]);
      for (const [status, answer] of Object.entries<{ description: string }>(operation.responses)) {
        if (Number(status) < 400)
          for (const name of membersOf(answer))
            expect([path, section]).toEqual([path, expect.stringContaining(name)]);
        else for (const code of answer.description.split(', ')) expect(section).toContain(code);
      }
    }
  }
});

/** The names of all members that a body may have, without the read-only ones. */
function membersOf(described: unknown): string[] {
  if (typeof described !== 'object' || described === null) return [];
  const {
    $ref,
    properties = {},
    ...rest
  } = described as { $ref?: string; properties?: Record<string, { readOnly?: boolean }> };
  if ($ref) return membersOf(document.components.schemas[$ref.split('/').at(-1)!]);
  const own = Object.entries(properties).filter(([, member]) => !member.readOnly);
  return [
    ...own.flatMap(([name, member]) => [name, ...membersOf(member)]),
    ...Object.values(rest).flatMap(membersOf),
  ];
}

test('every example call in the reference reaches its endpoint with a valid body', async () => {
  for (const { id, path, method, access, body, bodyOptional } of all) {
    const call = sectionOf(id);
    const [, url] = /'(http[^']+)'/.exec(call)!;
    expect(url).toBe(app.ctx.config.baseUrl + path.replace(/{(\w+)}/g, (_, name) => name.toUpperCase()));
    expect([id, call.includes('Authorization: Bearer ACCESS_TOKEN')]).toEqual([
      id,
      !['anyone', 'service'].includes(access),
    ]);
    expect([id, call.includes("-u 'ID:SECRET'")]).toEqual([id, access === 'service']);
    const [, sent] = /-d '([^']+)'/.exec(call) ?? [];
    expect([id, sent !== undefined]).toEqual([id, body !== undefined && !bodyOptional]);
    if (!sent || access === 'service') continue;
    const { access_token } = await app.login();
    const answer = await app.ask(
      method.toUpperCase(),
      path.slice('/api/v1/auth'.length).replace('{id}', 'ID'),
      {
        json: JSON.parse(sent),
        token: access_token,
      },
    );
    expect([id, answer.body?.error]).not.toEqual([id, 'invalid_request']);
  }
});

test('the reference loads only its own stylesheet, runs no script and has the headers of every page', async () => {
  const answer = await app.ask('GET', 'docs');
  const login = await app.ask('GET', 'login');
  for (const name of ['Content-Security-Policy', 'X-Frame-Options', 'Referrer-Policy', 'Cache-Control'])
    expect([name, answer.headers.get(name)]).toEqual([name, login.headers.get(name)]);
  expect(answer.text).not.toMatch(/<script|style=|\son\w+=|src=/);
  expect(answer.text.match(/<link [^>]+>/g)).toEqual([
    '<link rel="icon" href="data:,">',
    '<link rel="stylesheet" href="/docs/reference.css">',
  ]);
  const style = await app.ask('GET', 'docs/reference.css');
  expect([style.status, style.headers.get('Content-Type')]).toEqual([200, 'text/css; charset=utf-8']);
});

test('the reference works in a browser without errors, wide and narrow, and its navigation links to each endpoint', async () => {
  const service = await startService();
  const view = await newPage({ viewport: { width: 1280, height: 900 } });
  const complaints: string[] = [];
  view.on('console', (message) => void complaints.push(message.text()));
  await view.goto(`${service.url}/docs`);
  await view.getByRole('navigation').getByRole('link', { name: 'POST /introspect' }).click();
  expect(view.url()).toEndWith('#introspect');
  await view.setViewportSize({ width: 390, height: 844 });
  for (const width of [1280, 390]) {
    await view.setViewportSize({ width, height: 844 });
    const overflow = await view.locator('html').evaluate((root) => root.scrollWidth - root.clientWidth);
    expect([width, overflow]).toEqual([width, 0]);
  }
  expect(complaints).toEqual([]);
  await view.context().close();
  await service.stop();
});
