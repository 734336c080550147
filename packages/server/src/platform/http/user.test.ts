// Latchkey-User: the request fails unless its credential belongs to that user.

import { expect, test } from 'bun:test';
import { type Endpoint, userHeader } from '@latchkey/contract/endpoint';
import { endpoints } from '@latchkey/contract/endpoints';
import { cookieByMail, outcome, sameOrigin } from '#support/account.ts';
import { type Ask, openApp, type TestApp } from '#support/app.ts';
import { fresh } from '#support/shared.ts';

const all: readonly Endpoint[] = Object.values(endpoints);
const isOfUser = ({ access }: Endpoint) => access !== 'anyone' && access !== 'service';
const userEndpoints = all.filter(isOfUser);

const send = (app: TestApp, { method, path }: Endpoint, ask: Ask) =>
  app.ask(method.toUpperCase(), path.replace('{id}', `ses_${'x'.repeat(22)}`).slice(1), ask);

const lists = ['/me', '/passkeys', '/sessions', '/organizations', '/events'];

/** Both kinds of credential of an account, and everything that the API returns about it. */
async function signIn(app: TestApp, email: string) {
  const { access_token: token } = await app.login(email);
  const cookie = await cookieByMail(app, email);
  const shown = async () => {
    const texts = await Promise.all(lists.map(async (path) => (await app.ask('GET', path, { token })).text));
    return texts.map((text) => text.replaceAll(/"last_used_at":"[^"]+"/g, ''));
  };
  const { id } = (await app.ask('GET', '/me', { token })).body as { id: string };
  return { id, shown, credentials: [{ token }, { cookie, headers: sameOrigin }] as Ask[] };
}

const app = fresh(() => openApp('sqlite'));

test('Latchkey-User with another user’s credential is 412 at every endpoint, and nothing is read or changed', async () => {
  const ada = await signIn(app, 'ada@example.com');
  const bob = await signIn(app, 'bob@example.com');
  const before = await bob.shown();
  for (const seconds of [0, 3600]) {
    app.pass(seconds);
    for (const credential of bob.credentials) {
      for (const endpoint of userEndpoints) {
        const first = app.statements.length;
        const ask = { ...credential, headers: { ...credential.headers, [userHeader]: ada.id } };
        const bodies = endpoint.method === 'get' ? [{}] : [{}, { raw: '{' }, { json: { name: 'Not Bob' } }];
        for (const body of bodies) {
          const answer = await send(app, endpoint, { ...ask, ...body });
          expect([endpoint.id, outcome(answer)]).toEqual([endpoint.id, '412 precondition_failed']);
          expect(answer.body.error_description).toContain(userHeader);
          expect(answer.text).not.toContain(bob.id);
          expect(answer.headers.get('Set-Cookie')).toBeNull();
        }
        // Only the credential is looked up, and its use recorded.
        const isExpected = (text: string) => /^select|^update "sessions" set "last_used_at"/i.test(text);
        const others = app.statements.slice(first).filter((text) => !isExpected(text));
        expect([endpoint.id, others]).toEqual([endpoint.id, []]);
      }
    }
  }
  expect(await bob.shown()).toEqual(before);
});

test('Latchkey-User that names the user of the credential changes nothing', async () => {
  const ada = await signIn(app, 'ada@example.com');
  for (const credential of ada.credentials) {
    const held = { ...credential, headers: { ...credential.headers, [userHeader]: ada.id } };
    for (const path of lists) {
      const plain = await app.ask('GET', path, credential);
      expect([path, (await app.ask('GET', path, held)).text]).toEqual([path, plain.text]);
    }
    expect(outcome(await app.ask('PATCH', '/me', { ...held, json: { name: 'Ada L' } }))).toBe('200');
    expect(outcome(await app.ask('DELETE', '/logout?scope=session', held))).toBe('204');
  }
});

test('Latchkey-User that is malformed is 400, checked after the credential and before the body', async () => {
  const { id, credentials } = await signIn(app, 'ada@example.com');
  const wrong = ['', 'ada@example.com', 'usr_', `${id}x`, id.toUpperCase(), `"${id}"`, '*'];
  for (const value of [...wrong, `${id}, ${id}`, `${id},usr_x`, 'x'.repeat(5000)]) {
    const headers = { [userHeader]: value };
    for (const endpoint of userEndpoints) {
      const ask = { ...credentials[0], headers, ...(endpoint.body ? { raw: '{' } : {}) };
      const answer = await send(app, endpoint, ask);
      expect([endpoint.id, outcome(answer)]).toEqual([endpoint.id, '400 invalid_request']);
      expect(answer.body.error_description).toStartWith(`${userHeader}: `);
    }
    const foreign = await app.ask('GET', '/me', { token: 'lk_at_x', headers });
    expect(outcome(foreign)).toBe('401 invalid_token');
  }
});

test('Latchkey-User is ignored by endpoints without a user', async () => {
  for (const endpoint of all.filter((one) => !isOfUser(one))) {
    const plain = await send(app, endpoint, {});
    const held = await send(app, endpoint, { headers: { [userHeader]: 'not an id' } });
    expect([endpoint.id, outcome(held)]).toEqual([endpoint.id, outcome(plain)]);
  }
});
