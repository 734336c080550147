import { beforeAll, expect, test } from 'bun:test';
import { openApp, type TestApp } from '#support/app.ts';
import { Conformance, type Document, type Received, type Sent } from '#support/conformance.ts';
import { shared } from '#support/shared.ts';

const app = shared(() => openApp('sqlite'));
let conformance: Conformance;
beforeAll(async () => {
  conformance = new Conformance((await app.ask('GET', 'openapi.json')).body as Document);
});

const url = (path: string) => `http://localhost:8787/api/v1/auth${path}`;
const json = { 'Content-Type': 'application/json' };
const common = { 'X-Request-Id': 'r', 'Cache-Control': 'no-store' };
const headers = (changed: Record<string, string>) => new Headers({ ...common, ...json, ...changed });

/** Checks a conforming request for a sign-in mail and its response, with the given changes. */
const complaintsAbout = (sent: Partial<Sent>, received: Partial<Received> = {}) =>
  conformance.complaints(
    {
      method: 'POST',
      url: url('/magic_link'),
      headers: new Headers(json),
      body: '{"email":"ada@example.com"}',
      ...sent,
    },
    {
      status: 202,
      headers: headers({}),
      text: '{"status":"sent","expires_in":900,"request":"x"}',
      ...received,
    },
  );

const refused = (code: string, status = 400, more: Record<string, string> = {}) => {
  const body = { error: code, error_description: 'A sentence.', request_id: 'r' };
  return { status, text: JSON.stringify(body), headers: headers(more) };
};
const limits = { RateLimit: '"x";r=0;t=1', 'RateLimit-Policy': '"x";q=1;w=1' };

test('a request and a response that match the OpenAPI document pass', () => {
  expect(complaintsAbout({})).toEqual([]);
  expect(complaintsAbout({ body: '{}' }, refused('invalid_request'))).toEqual([]);
  const limited = refused('rate_limited', 429, { ...limits, 'Retry-After': '1' });
  expect(complaintsAbout({}, limited)).toEqual([]);
});

const denial = { url: url('/device/deny'), body: '{"user_code":"x"}' };
const page = { method: 'GET', url: url('/sessions?limit=101'), body: null };

test.each<[mistake: string, sent: Partial<Sent>, received: Partial<Received>]>([
  ['an undeclared status', {}, { status: 201 }],
  ['an undeclared member', {}, { text: '{"status":"sent","expires_in":9,"request":"r","x":1}' }],
  ['a missing member', {}, { text: '{"status":"sent","expires_in":900}' }],
  ['a member of the wrong type', {}, { text: '{"status":"sent","expires_in":"9","request":"r"}' }],
  ['no X-Request-Id', {}, { headers: new Headers({ 'Cache-Control': 'no-store', ...json }) }],
  ['an undeclared header', {}, { headers: headers({ 'X-Other': '1' }) }],
  ['the wrong media type', {}, { headers: headers({ 'Content-Type': 'text/html' }) }],
  ['an error code of another endpoint', {}, refused('slow_down')],
  ['429 without Retry-After', {}, refused('rate_limited', 429, limits)],
  ['an accepted invalid request', { body: '{"email":"ada"}' }, {}],
  ['an accepted request without its body', { body: null }, {}],
  ['an accepted undeclared media type', { headers: new Headers({ 'Content-Type': 'a/b' }) }, {}],
  ['an accepted undeclared method', { method: 'PUT' }, {}],
  ['an accepted undeclared path', { url: url('/nothing') }, {}],
  ['an accepted call without a credential', denial, { status: 204, text: '', headers: new Headers(common) }],
  [
    'an accepted page size that the document forbids',
    { ...page, headers: new Headers({ Authorization: 'Bearer x' }) },
    { status: 200, text: '{"sessions":[],"next_cursor":null}' },
  ],
])('the conformance check reports %s', (_, sent, received) => {
  expect(complaintsAbout(sent, received)).toHaveLength(1);
});

test('a test that gets an undeclared response fails, even if a client swallows the error', async () => {
  const other = await openApp('sqlite');
  const lying = other.app as { fetch: TestApp['app']['fetch'] };
  lying.fetch = async () => new Response(null, { status: 418 });
  await expect(other.ask('GET', '/me')).rejects.toThrow('GET getProfile 418: an undeclared status');
  await expect(other.close()).rejects.toThrow('418');
});
