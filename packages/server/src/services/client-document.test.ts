import { describe, expect, test } from 'bun:test';
import { readConfig } from '../settings.ts';
import { keptSeconds, parseClientUrl, readClientDocument } from './clients.ts';

describe('the client_id of an external client', () => {
  const hosts = { clientHosts: ['app.example', 'b.example:8443', '[2606:4700::1]'], isLocal: false };
  test.each([
    'https://app.example/client',
    'https://app.example/a/b.json',
    'https://b.example:8443/client',
    'https://[2606:4700::1]/client',
  ])('%s is one', (id) => {
    expect(parseClientUrl(id, hosts)?.href).toBe(id);
  });
  test.each([
    ['no path', ['https://app.example/', 'https://app.example']],
    ['another port', ['https://app.example:8443/client', 'https://b.example/client']],
    ['another host', ['https://c.example/client', 'https://x.app.example/client', 'app.example/client']],
    ['another scheme', ['http://app.example/client']],
    ['a query or a fragment', ['?', '?a', '#', '#a'].map((end) => `https://app.example/client${end}`)],
    ['user information', ['https://a@app.example/client']],
    ['another spelling', ['https://App.example/client', 'https://app.example\\client']],
    ['dot segments', ['./client', 'a/../client', '%2e%2e/client'].map((end) => `https://app.example/${end}`)],
    ['a space, or too many characters', ['a b', 'x'.repeat(2048)].map((end) => `https://app.example/${end}`)],
  ])('what has %s is none', (_, ids) => {
    expect(ids.filter((id) => parseClientUrl(id, hosts) !== undefined)).toEqual([]);
  });

  test('of a listed URL only that document is one, and of listed loopback hosts only in development, by http', () => {
    const clientHosts = ['https://c.example/client', 'http://127.0.0.1:3000/client', 'localhost'];
    const local = ['http://127.0.0.1:3000/client', 'http://localhost/c'];
    const isClient = (id: string, isLocal: boolean) =>
      parseClientUrl(id, { clientHosts, isLocal })?.href === id;
    expect(isClient('https://c.example/client', false)).toBe(true);
    for (const id of local) expect([id, isClient(id, true), isClient(id, false)]).toEqual([id, true, false]);
    for (const id of [
      ...['/', '2', '?'].map((more) => `https://c.example/client${more}`),
      ...['https://c.example/clien', 'https://c.example/Client', 'https://c.example:8443/client'],
      ...['http://c.example/client', 'http://127.0.0.1/client', 'http://127.0.0.1:3000/client2'],
    ])
      expect([id, isClient(id, true)]).toEqual([id, false]);
  });
});

test('LATCHKEY_CLIENT_HOSTS lists hosts and URLs of documents, in one spelling', () => {
  const listed = (LATCHKEY_CLIENT_HOSTS: string) => readConfig({ LATCHKEY_CLIENT_HOSTS }).clientHosts;
  const all = ['a.example:8443', 'https://b.example/c', 'http://127.0.0.1:3000/c'];
  expect(listed(all.join(', '))).toEqual(all);
  for (const entry of [
    ...['App.example', '*.app.example', 'https://app.example/', 'https://app.example/*'],
    ...['https://app.example/c?a', 'https://app.example/c#a', 'https://app.example/a/../c'],
    ...['http://app.example/c', 'https://App.example/c', 'https://a@app.example/c'],
    ...['https://app.example:443/c', 'a..b', '-a.example', 'https://a..b/c'],
  ])
    expect(() => listed(entry)).toThrow('LATCHKEY_CLIENT_HOSTS must be a comma-separated list');
});

describe('the document of an external client', () => {
  const url = new URL('https://app.example/client');
  const good = { client_id: url.href, client_name: 'App', redirect_uris: ['http://127.0.0.1/cb'] };
  test('is read, with the redirect URIs that are taken', () => {
    const redirect_uris = [
      'http://127.0.0.1/cb',
      'myapp:/cb',
      'http://app.example/',
      'https://app.example/cb',
      5,
      null,
      ['https://app.example/cb'],
    ];
    expect(readClientDocument(url, { ...good, redirect_uris, token_endpoint_auth_method: 'none' })).toEqual({
      name: 'App',
      redirectUris: ['http://127.0.0.1/cb', 'https://app.example/cb'],
      signing: null,
    });
  });
  test('without a name, or with one that cannot be shown, the host is the name', () => {
    for (const client_name of [undefined, '', ' ', 'a\nb', 'x'.repeat(101), 5])
      expect(readClientDocument(url, { ...good, client_name })?.name).toBe('app.example');
  });
  test.each([
    ...[{ client_id: 'https://app.example/other' }, { client_id: undefined }],
    { token_endpoint_auth_method: 'client_secret_basic' },
    ...[{ client_secret: 'secret' }, { client_secret: null }, { client_secret_expires_at: 0 }],
    ...[{ redirect_uris: 'http://127.0.0.1/cb' }, { redirect_uris: undefined }],
  ])('%j is not taken', (changed) => {
    expect(readClientDocument(url, { ...good, ...changed })).toBeUndefined();
    for (const json of [null, [], 'text']) expect(readClientDocument(url, json)).toBeUndefined();
  });

  const publicKey = { kty: 'EC', crv: 'P-256', x: 'x', y: 'y' };
  const jwks = { keys: [publicKey] };
  const jwks_uri = 'https://app.example/keys';
  const signing = (changed: object) =>
    readClientDocument(url, { ...good, token_endpoint_auth_method: 'private_key_jwt', ...changed })?.signing;
  test('of a client that signs its requests has or names its keys', () => {
    expect(signing({ jwks })).toEqual({ keys: jwks });
    expect(signing({ jwks: { keys: Array(10).fill(publicKey) } })).toBeDefined();
    expect(signing({ jwks_uri })).toEqual({ url: new URL(jwks_uri) });
  });
  test.each<object>([
    ...[{}, { jwks, jwks_uri }, { jwks: null }, { jwks: 'text' }, { jwks: { keys: [] } }],
    ...[{ jwks: { keys: Array(11).fill(publicKey) } }, { jwks: { keys: [{ kty: 'oct', k: 'secret' }] } }],
    ...['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth'].map((member) => ({
      jwks: { keys: [publicKey, { ...publicKey, [member]: 'secret' }] },
    })),
    ...['https://other.example/keys', 'http://app.example/keys', 'https://app.example:8443/keys', '/keys', 5]
      .concat('https://a:b@app.example/keys')
      .map((jwks_uri) => ({ jwks_uri })),
  ])('with private_key_jwt, %j is not taken', (changed) => {
    expect(signing(changed)).toBeUndefined();
  });
});

test.each([
  {
    client_id: 'https://chatgpt.com/oauth/client.json',
    client_uri: 'https://chatgpt.com/',
    redirect_uris: ['https://chatgpt.com/connector_platform_oauth_redirect'],
    token_endpoint_auth_method: 'private_key_jwt',
    token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
    client_name: 'ChatGPT',
    token_endpoint_auth_signing_alg: 'RS256',
    jwks_uri: 'https://chatgpt.com/oauth/jwks.json',
  },
  {
    client_id: 'https://vscode.dev/oauth/client-metadata.json',
    client_name: 'Visual Studio Code',
    application_type: 'native',
    grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
    response_types: ['code'],
    client_uri: 'https://vscode.dev/product',
    redirect_uris: ['http://127.0.0.1:33418/', 'https://vscode.dev/redirect'],
    token_endpoint_auth_method: 'none',
  },
])('the document of a client in use in September 2026 is taken: $client_id', (json) => {
  expect(readClientDocument(new URL(json.client_id), json)).toEqual({
    name: json.client_name,
    redirectUris: [...json.redirect_uris],
    signing: 'jwks_uri' in json ? { url: new URL(json.jwks_uri as string) } : null,
  });
});

test.each([
  [{}, 300],
  [{ 'Cache-Control': 'max-age=3600' }, 3_600],
  [{ 'Cache-Control': 'public, max-age=3600', Age: '600' }, 3_000],
  [{ 'Cache-Control': 'max-age=10' }, 300],
  [{ 'Cache-Control': 'max-age=999999' }, 86_400],
  [{ 'Cache-Control': 'no-store, max-age=3600' }, 300],
  [{ 'Cache-Control': 'no-cache' }, 300],
  [{ Expires: new Date(7_200_000).toUTCString() }, 7_200],
  [{ Expires: 'soon' }, 300],
  [{ 'Cache-Control': 'x-max-age=3600' }, 300],
] as const)('a document with the headers %j is kept for %d seconds', (headers, seconds) => {
  expect(keptSeconds(new Headers(headers), 0)).toBe(seconds);
});
