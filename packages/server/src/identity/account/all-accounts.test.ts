import { expect, test } from 'bun:test';
import { onBothDatabases } from '../../../../../tests/support/app.ts';
import { allAccounts } from './account.ts';

onBothDatabases('all accounts', (open) => {
  test('are gone through once each, whether or not they fill the last page', async () => {
    const app = await open();
    const ids: string[] = [];
    for (let count = 1; count <= 5; count++) {
      const { access_token: token } = await app.login(`account${count}@example.com`);
      ids.push((await app.ask('GET', '/me', { token })).body.id);
      const seen = await Array.fromAsync(allAccounts(app.ctx, 2));
      expect(seen.sort()).toEqual([...ids].sort());
    }
  });
});
