// A session for a token that the program was given, as an argument or in LATCHKEY_TOKEN.

import { afterEach, describe, expect, test } from 'bun:test';
import { openApp, type TestApp } from '#support/app.ts';
import { apiOf, codeOf, lossy } from '#support/client.ts';
import { createdKey } from '#support/keys.ts';
import { createApi } from './api.ts';
import { sessionFromEnvironment } from './environment.ts';
import { openTokenSession } from './token-session.ts';

const address = 'ada@example.com';

/** A service, a browser's tokens and a session that uses the access token. */
async function open() {
  const service = await openApp('sqlite');
  const tokens = await service.login(address);
  const wire = lossy(service.fetch);
  const api = apiOf(service, wire.fetch);
  const sessionFor = (token: string) => openTokenSession({ api, token });
  return { service, tokens, wire, api, sessionFor, session: sessionFor(tokens.access_token) };
}

const meOf = async (service: TestApp, token: string) => (await service.ask('GET', '/me', { token })).status;

describe('a session for a given token', () => {
  test('calls the service with an access token or a key, without the white space around it', async () => {
    const { service, tokens, sessionFor, session } = await open();
    const { key } = await createdKey(service, tokens, { scope: 'email' });
    for (const one of [session, sessionFor(key), sessionFor(`\t${tokens.access_token}\r\n`)])
      expect((await one.call('getProfile')).email).toBe(address);
    expect(await sessionFor(` ${key}`).accessToken()).toBe(key);
    for (const token of ['', 'secret one', 'secret\r\nX-Other: 1', 'secret\u00e9'])
      expect(() => sessionFor(token)).toThrow(/^The token is empty, or contains a space or a character/);
  });

  test('sends the token only to the service and to listed origins', async () => {
    const { tokens, api, wire } = await open();
    const { access_token: token } = tokens;
    wire.replace = () => new Response('elsewhere');
    const session = openTokenSession({ api, token, origins: ['https://tickets.example'] });
    for (const url of ['/api/v1/auth/me', 'https://tickets.example/list', 'https://evil.example/list'])
      await session.fetch(url);
    expect(wire.sent.map((request) => request.headers.get('Authorization'))).toEqual([
      `Bearer ${token}`,
      `Bearer ${token}`,
      null,
    ]);
  });

  test('follows no redirect, not even of the service, with the token', async () => {
    const paths: string[] = [];
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: ({ url }) => {
        paths.push(new URL(url).pathname);
        return Response.redirect('/elsewhere', 307);
      },
    });
    const session = openTokenSession({ api: createApi({ server: server.url.origin }), token: 'lk_at_a' });
    expect(await codeOf(session.fetch('/list'))).toBe('unreachable');
    expect(await codeOf(session.call('getProfile'))).toBe('not_latchkey');
    expect(paths).toEqual(['/list', '/api/v1/auth/me']);
    server.stop(true);
  });

  test('is never refreshed: a refused token is one request, and its error is that of the service', async () => {
    const { wire, sessionFor } = await open();
    const refused = sessionFor('lk_at_unknown');
    await expect(refused.call('getProfile')).rejects.toMatchObject({
      code: 'invalid_token',
      requestId: expect.stringMatching(/./),
    });
    expect(wire.sent).toHaveLength(1);
    expect((await refused.fetch('/api/v1/auth/me')).status).toBe(401);
    expect(await codeOf(refused.renew('lk_at_unknown'))).toBe('invalid_token');
    expect(wire.sent).toHaveLength(2);
  });

  test('can end itself, or every session of the user', async () => {
    const { service, tokens, sessionFor, session } = await open();
    const { access_token: other } = await service.login(address);
    const { key } = await createdKey(service, tokens);
    await sessionFor(key).logout();
    expect(await meOf(service, key)).toBe(401);
    expect(await meOf(service, tokens.access_token)).toBe(200);
    await session.logout({ everywhere: true });
    expect(await meOf(service, other)).toBe(401);
  });
});

describe('a session from the environment', () => {
  afterEach(() => {
    for (const name of ['LATCHKEY_TOKEN', 'LATCHKEY_SERVER']) delete process.env[name];
  });

  test('uses LATCHKEY_TOKEN at LATCHKEY_SERVER, without the line breaks that files end in', async () => {
    const { service, tokens, wire } = await open();
    process.env['LATCHKEY_TOKEN'] = `\ufeff${tokens.access_token}\r\n`;
    process.env['LATCHKEY_SERVER'] = ` ${service.ctx.config.baseUrl}\n`;
    const session = sessionFromEnvironment({ fetch: wire.fetch });
    expect((await session?.call('getProfile'))?.email).toBe(address);
    expect(session?.server).toBe(service.ctx.config.baseUrl);
  });

  test('is undefined without a token, and refused without a server that is named, with or without a scheme', () => {
    process.env['LATCHKEY_TOKEN'] = ' \n';
    process.env['LATCHKEY_SERVER'] = '';
    expect(sessionFromEnvironment()).toBeUndefined();
    process.env['LATCHKEY_TOKEN'] = 'lk_at_secret';
    expect(() => sessionFromEnvironment()).toThrow(/^LATCHKEY_TOKEN needs LATCHKEY_SERVER/);
    expect(sessionFromEnvironment({ server: 'https://login.example' })?.server).toBe('https://login.example');
    expect(() => sessionFromEnvironment({ server: 'http://login.example' })).toThrow(/^Plain http/);
    process.env['LATCHKEY_SERVER'] = 'localhost:8787';
    expect(sessionFromEnvironment()?.server).toBe('http://localhost:8787');
    process.env['LATCHKEY_SERVER'] = 'login.example/path';
    expect(() => sessionFromEnvironment()).toThrow(/^LATCHKEY_SERVER must be/);
  });
});
