import { expect, test } from 'bun:test';
import { onBothDatabases } from '../../../../../tests/support/app.ts';
import { allAccounts } from './account.ts';

onBothDatabases('allAccounts', (open) => {
  test('allAccounts yields each account once, whether or not the last page is full', async () => {
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
