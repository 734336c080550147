import { expect, test } from 'bun:test';
import { onBothDatabases } from '#support/app.ts';
import { shared } from '#support/shared.ts';
import { listUsers } from './users.ts';

const typed = 'Ada@B\u00fccher.example';
const ascii = 'ada@xn--bcher-kva.example';

onBothDatabases('an address with an international domain', (open) => {
  const app = shared(open);

  const profile = async (email: string) => {
    const { access_token: token } = await app.login(email);
    return (await app.ask('GET', '/me', { token })).body;
  };

  test('is kept as first typed, and its U-label and A-label sign in to one account', async () => {
    const first = await profile(typed);
    expect(first.email).toBe(typed);
    const second = await profile(ascii);
    expect([second.id, second.email]).toEqual([first.id, typed]);
    const third = await profile('ADA@b\u00fccher.EXAMPLE');
    expect(third.id).toBe(first.id);
  });

  test('is found by its U-label and its A-label', async () => {
    const { id } = await profile(typed);
    const headers = { Authorization: await app.serviceAuthorization('users') };
    for (const email of [typed, ascii])
      expect((await app.ask('POST', '/users/lookup', { json: { email }, headers })).body.id).toBe(id);
    for (const text of ['B\u00fccher', 'b\u00fcch', 'xn--bcher', 'ada@'])
      expect((await listUsers(app.ctx, { search: text, limit: 9 })).users.map((user) => user.id)).toContain(
        id,
      );
  });
});
