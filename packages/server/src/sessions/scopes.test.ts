// What random sequences of sign-ins and refreshes (tests/invariants/widening.test.ts) and the table of access do not ask.

import { beforeAll, expect, test } from 'bun:test';
import { newAddress, outcome } from '#support/account.ts';
import { openApp, type Tokens } from '#support/app.ts';
import { declareService } from '#support/services.ts';
import { shared } from '#support/shared.ts';

const tickets = 'https://tickets.example/api';
const builds = 'https://builds.example/api';

const app = shared(() => openApp('sqlite'));
beforeAll(async () => {
  const scopes = [{ name: 'tickets:read', sentence: 'Read your tickets' }];
  await declareService(app.ctx, { scopes, resource: tickets });
  await declareService(app.ctx, { name: 'Builds', resource: builds });
});

const narrow = async (access: object): Promise<Tokens> =>
  app.deviceLogin(await app.login(newAddress()), access);
const refresh = (json: Record<string, string>, headers = {}) =>
  app.ask('POST', '/refresh', { json, headers });

test('a refresh with authorization details is refused and spends nothing', async () => {
  const { refresh_token } = await narrow({ scope: 'profile' });
  const authorization_details = '[{"type":"a"}]';
  const form = { grant_type: 'refresh_token', refresh_token, authorization_details };
  for (const path of ['/token', '/refresh'])
    expect(outcome(await app.ask('POST', path, { form }))).toBe('400 invalid_request');
  expect(outcome(await refresh({ refresh_token, authorization_details }))).toBe('400 invalid_request');
  expect(outcome(await refresh({ refresh_token }))).toBe('200');
});

test('a refresh repeated with another scope or resource gets no tokens, and ends nothing', async () => {
  const { refresh_token } = await narrow({ scope: 'profile', resource: tickets });
  const kept = { 'Idempotency-Key': 'kept' };
  const first = await refresh({ refresh_token }, kept);
  expect(outcome(await refresh({ refresh_token, scope: '*' }, kept))).toBe('400 invalid_scope');
  expect(outcome(await refresh({ refresh_token, resource: builds }, kept))).toBe('400 invalid_target');
  const again = await refresh({ refresh_token, scope: 'profile' }, kept);
  expect(again.body.refresh_token).toBe(first.body.refresh_token);
});

test('a wrong scope does not hide that a stolen token was used', async () => {
  const { refresh_token } = await narrow({ scope: 'profile' });
  const { body } = await refresh({ refresh_token });
  app.pass(11);
  expect(outcome(await refresh({ refresh_token, scope: '*' }))).toBe('400 invalid_grant');
  expect(outcome(await refresh({ refresh_token: body.refresh_token }))).toBe('400 invalid_grant');
});

test('the list of sessions says what each may do, and where', async () => {
  const owner = await app.login(newAddress());
  await app.deviceLogin(owner, { scope: 'tickets:read email' });
  app.pass(1);
  const { refresh_token } = await app.deviceLogin(owner, { resource: tickets });
  await refresh({ refresh_token });
  const { sessions } = await app.api.call('listSessions', { accessToken: owner.access_token });
  expect(sessions.map(({ scope, resource }) => [scope, resource])).toEqual([
    ['*', tickets],
    ['tickets:read email', null],
    ['*', null],
  ]);
});

test('the refusal names the scope that is needed', async () => {
  const { access_token: token } = await narrow({ scope: 'tickets:read' });
  const challenge = async (path: string) =>
    (await app.ask('GET', path, { token })).headers.get('WWW-Authenticate');
  expect(await challenge('/organizations')).toMatch(
    /^Bearer .*error="insufficient_scope".*scope="organizations"$/,
  );
  expect(await challenge('/sessions')).toEndWith('scope="*"');
});
