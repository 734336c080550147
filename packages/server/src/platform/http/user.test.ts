// Latchkey-User: the request fails unless its credential belongs to that user.

import { expect, test } from 'bun:test';
import { type Endpoint, userHeader } from '@latchkey/contract/endpoint';
import { endpoints } from '@latchkey/contract/endpoints';
import { cookieByMail, sameOrigin } from '../../../../../tests/support/account.ts';
import { type Ask, onBothDatabases, type TestApp } from '../../../../../tests/support/app.ts';
import { fresh } from '../../../../../tests/support/shared.ts';

const userEndpoints = (Object.values(endpoints) as Endpoint[]).filter(
  ({ access }) => access !== 'anyone' && access !== 'service',
);
const otherEndpoints = (Object.values(endpoints) as Endpoint[]).filter(
  (endpoint) => !userEndpoints.includes(endpoint),
);
const hourSeconds = 3600;

const send = (app: TestApp, { method, path }: Endpoint, ask: Ask) =>
  app.ask(method.toUpperCase(), path.replace('{id}', `ses_${'x'.repeat(22)}`).slice(1), ask);

/** Both kinds of credential of an account, and everything that the API returns about it. */
async function signIn(app: TestApp, email: string) {
  const { access_token: token } = await app.login(email);
  const cookie = await cookieByMail(app, email);
  const shown = async () => {
    const lists = ['/me', '/passkeys', '/sessions', '/organizations', '/events'];
    return Promise.all(lists.map(async (path) => (await app.ask('GET', path, { token })).text));
  };
  const { id } = (await app.ask('GET', '/me', { token })).body as { id: string };
  return { id, shown, credentials: [{ token }, { cookie, headers: sameOrigin }] as Ask[] };
}

onBothDatabases(userHeader, (open) => {
  const app = fresh(open);

  test('Latchkey-User with another user’s credential is 412 at every endpoint, and nothing is read or changed', async () => {
    const ada = await signIn(app, 'ada@example.com');
    const bob = await signIn(app, 'bob@example.com');
    const before = await bob.shown();
    for (const pass of [0, hourSeconds]) {
      app.pass(pass);
      for (const credential of bob.credentials) {
        for (const endpoint of userEndpoints) {
          const first = app.statements.length;
          const ask = { ...credential, headers: { ...credential.headers, [userHeader]: ada.id } };
          const bodies = endpoint.method === 'get' ? [{}] : [{}, { raw: '{' }, { json: { name: 'Not Bob' } }];
          for (const body of bodies) {
            const answer = await send(app, endpoint, { ...ask, ...body });
            expect([endpoint.id, answer.status, answer.body.error]).toEqual([
              endpoint.id,
              412,
              'precondition_failed',
            ]);
            expect(answer.body.error_description).toContain(userHeader);
            expect(answer.text).not.toContain(bob.id);
            expect(answer.headers.get('Set-Cookie')).toBeNull();
          }
          // Only the credential is looked up, and its use recorded.
          const ran = app.statements.slice(first);
          expect([
            endpoint.id,
            ran.filter((text) => !/^select|^update "sessions" set "last_used_at"/i.test(text)),
          ]).toEqual([endpoint.id, []]);
        }
      }
    }
    const after = await bob.shown();
    expect(after.map((text) => text.replaceAll(/"last_used_at":"[^"]+"/g, ''))).toEqual(
      before.map((text) => text.replaceAll(/"last_used_at":"[^"]+"/g, '')),
    );
  });

  test('Latchkey-User with that user’s credential changes nothing', async () => {
    const ada = await signIn(app, 'ada@example.com');
    for (const credential of ada.credentials) {
      const headers = { ...credential.headers, [userHeader]: ada.id };
      for (const path of ['/me', '/passkeys', '/sessions', '/organizations', '/events']) {
        const plain = await app.ask('GET', path, credential);
        const held = await app.ask('GET', path, { ...credential, headers });
        expect([path, held.status, held.text]).toEqual([path, 200, plain.text]);
      }
      const named = { json: { name: 'Ada L' }, headers };
      expect((await app.ask('PATCH', '/me', { ...credential, ...named })).body.name).toBe('Ada L');
      expect((await app.ask('DELETE', '/logout?scope=session', { ...credential, headers })).status).toBe(204);
    }
  });

  test('a malformed Latchkey-User is 400, checked after the credential and before the body', async () => {
    const ada = await signIn(app, 'ada@example.com');
    const [bearer] = ada.credentials;
    const wrong = ['', 'ada@example.com', 'usr_', `${ada.id}x`, ada.id.toUpperCase(), `"${ada.id}"`, '*'];
    for (const value of [...wrong, `${ada.id}, ${ada.id}`, `${ada.id},usr_x`, 'x'.repeat(5000)]) {
      for (const endpoint of userEndpoints) {
        const ask = { ...bearer, headers: { [userHeader]: value }, ...(endpoint.body ? { raw: '{' } : {}) };
        const answer = await send(app, endpoint, ask);
        expect([endpoint.id, answer.status, answer.body.error]).toEqual([
          endpoint.id,
          400,
          'invalid_request',
        ]);
        expect(answer.body.error_description).toStartWith(`${userHeader}: `);
      }
      const foreign = await app.ask('GET', '/me', { token: 'lk_at_x', headers: { [userHeader]: value } });
      expect(foreign.body.error).toBe('invalid_token');
    }
  });

  test('Latchkey-User is ignored by endpoints without a user', async () => {
    const headers = { [userHeader]: 'not an id' };
    for (const endpoint of otherEndpoints) {
      const plain = await send(app, endpoint, {});
      const held = await send(app, endpoint, { headers });
      expect([endpoint.id, held.status, held.body?.error]).toEqual([
        endpoint.id,
        plain.status,
        plain.body?.error,
      ]);
    }
  });
});
