import { describe, expect, test } from 'bun:test';
import { type Answer, type Ask, openApp } from '#support/app.ts';
import { shared } from '#support/shared.ts';

const allowed = 'https://dashboard.example';
const other = 'https://app.example';

const app = shared(() => openApp('sqlite', { settings: { LATCHKEY_ALLOWED_ORIGINS: allowed } }));

const form = { token: 'unknown' };
const about = ({ headers }: Answer, name: string) => headers.get(`Access-Control-Allow-${name}`);

describe.each<[string, string, Ask]>([
  ['GET', '.well-known/oauth-authorization-server', {}],
  ['GET', '.well-known/openid-configuration', {}],
  ['GET', '.well-known/jwks.json', {}],
  ['POST', '/token', { form }],
  ['POST', '/revoke', { form }],
  ['GET', '/userinfo', {}],
  ['POST', '/userinfo', {}],
])('%s %s', (method, path, ask) => {
  test('answers every origin, without credentials; an allowed one keeps its own headers', async () => {
    for (const [Origin, answered, credentials] of [
      [other, '*', null],
      ['null', '*', null],
      [allowed, allowed, 'true'],
    ] as const) {
      const answer = await app.ask(method, path, { ...ask, headers: { Origin } });
      expect([about(answer, 'Origin'), about(answer, 'Credentials')]).toEqual([answered, credentials]);
      expect(answer.headers.get('Vary')).toContain('Origin');
    }
  });

  test('allows the headers that a preflight asks for, but not the one of our pages', async () => {
    const asked = 'authorization, x-anything, mcp-protocol-version';
    const headers = {
      Origin: other,
      'Access-Control-Request-Method': method,
      'Access-Control-Request-Headers': `Latchkey-Page,${asked},latchkey-page, LATCHKEY-PAGE`,
    };
    const answer = await app.ask('OPTIONS', path, { headers });
    expect([answer.status, about(answer, 'Origin'), about(answer, 'Credentials')]).toEqual([204, '*', null]);
    expect(about(answer, 'Methods')).toContain(method);
    expect(about(answer, 'Headers')).toBe(asked);
  });
});

// server.test.ts asks every other endpoint.
test('a revocation as JSON answers no other origin', async () => {
  const answer = await app.ask('POST', '/revoke', { json: {}, headers: { Origin: other } });
  expect(about(answer, 'Origin')).toBeNull();
});
