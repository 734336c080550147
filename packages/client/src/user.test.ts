import { expect, test } from 'bun:test';
import { codeOf } from '#support/client.ts';
import { refuses, responds } from '#support/responses.ts';
import { createApi } from './api.ts';
import { userOf } from './user.ts';

const userFrom = (response: Response) =>
  userOf(createApi({ server: 'https://login.example', fetch: async () => response }), 'lk_at_1');
const userIn = (body: unknown) => userFrom(responds(body));

test('a user is stored as the service names them, also by a token that may not see everything', async () => {
  const known = { id: 'usr_1', email: 'ada@example.com' };
  expect(await userIn({ ...known, name: 'Ada' })).toEqual(known);
  expect(await userIn({ id: 'usr_1' })).toEqual({ id: 'usr_1', email: '' });
  expect(await userFrom(refuses('insufficient_scope', 403))).toEqual({ id: '', email: '' });
});

test.each<[string, unknown]>([
  ['no profile', 7],
  ['no id', { id: null, email: 'ada@example.com' }],
  ['an empty id', { id: '' }],
  ['an id of two lines', { id: 'usr_1\nusr_2' }],
  ['an id that is too long', { id: 'u'.repeat(65) }],
  ['an address that is too long', { id: 'usr_1', email: 'a'.repeat(255) }],
  ['an address with control characters', { id: 'usr_1', email: 'a@b.example\u001b[2J' }],
  ['an address written backwards', { id: 'usr_1', email: 'a@b.example\u202e' }],
])('%s is stored for no user', async (_, body) => {
  expect(await codeOf(userIn(body))).toBe('not_latchkey');
});
