import { expect, test } from 'bun:test';
import { openApp } from '../../../../../tests/support/app.ts';
import { shared } from '../../../../../tests/support/shared.ts';

const allowed = 'https://dashboard.example';
const other = 'https://app.example';

const app = shared(() => openApp('sqlite', { settings: { LATCHKEY_ALLOWED_ORIGINS: allowed } }));

const form = { token: 'unknown' };
const open = {
  'GET .well-known/oauth-authorization-server': {},
  'GET .well-known/openid-configuration': {},
  'GET .well-known/jwks.json': {},
  'POST /token': { form },
  'POST /revoke': { form },
  'GET /userinfo': {},
  'POST /userinfo': {},
};

for (const [name, ask] of Object.entries(open)) {
  const [method = '', path = ''] = name.split(' ');

  test(`${name} answers every origin, without credentials; an allowed one keeps its own headers`, async () => {
    for (const Origin of [other, 'null']) {
      const { headers } = await app.ask(method, path, { ...ask, headers: { Origin } });
      expect(headers.get('Access-Control-Allow-Origin')).toBe('*');
      expect(headers.get('Access-Control-Allow-Credentials')).toBeNull();
      expect(headers.get('Vary')).toContain('Origin');
    }
    const { headers } = await app.ask(method, path, { ...ask, headers: { Origin: allowed } });
    expect(headers.get('Access-Control-Allow-Origin')).toBe(allowed);
    expect(headers.get('Access-Control-Allow-Credentials')).toBe('true');
  });

  test(`a preflight of ${name} allows the headers that it asks for, but not the one of our pages`, async () => {
    const asked = 'authorization, x-anything, mcp-protocol-version';
    const headers = {
      Origin: other,
      'Access-Control-Request-Method': method,
      'Access-Control-Request-Headers': `Latchkey-Page,${asked},latchkey-page, LATCHKEY-PAGE`,
    };
    const answer = await app.ask('OPTIONS', path, { headers });
    expect(answer.status).toBe(204);
    expect(answer.headers.get('Access-Control-Allow-Origin')).toBe('*');
    expect(answer.headers.get('Access-Control-Allow-Credentials')).toBeNull();
    expect(answer.headers.get('Access-Control-Allow-Methods')).toContain(method);
    expect(answer.headers.get('Access-Control-Allow-Headers')).toBe(asked);
  });
}

test('everything else answers no other origin', async () => {
  const closed = [
    app.ask('GET', '/me', { headers: { Origin: other } }),
    app.ask('POST', '/refresh', { json: {}, headers: { Origin: other } }),
    app.ask('POST', '/authorize/verify', { json: {}, headers: { Origin: other } }),
    app.ask('POST', '/revoke', { json: {}, headers: { Origin: other } }),
    app.ask('OPTIONS', '/me', { headers: { Origin: other, 'Access-Control-Request-Method': 'GET' } }),
  ];
  for (const { headers } of await Promise.all(closed))
    expect(headers.get('Access-Control-Allow-Origin')).toBeNull();
});
