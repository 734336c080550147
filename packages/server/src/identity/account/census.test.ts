import { expect, test } from 'bun:test';
import { onBothDatabases } from '#support/app.ts';
import { setDisabled } from './account.ts';
import { countAccounts } from './users.ts';

onBothDatabases('the census', (open) => {
  test('counts all accounts and the sign-ins that are active, page by page', async () => {
    const t = await open();
    const count = (limit: number) => countAccounts(t.ctx, undefined, { limit, restFactor: 0 });
    expect(await count(2)).toEqual({ accounts: 0, sessions: 0 });
    const people = [];
    for (const name of ['a', 'b', 'c', 'd', 'e']) people.push(await t.login(`${name}@example.com`));
    await t.deviceLogin(people[0]!);
    for (const limit of [1, 2, 5, 100]) expect(await count(limit)).toEqual({ accounts: 5, sessions: 6 });
    await t.ask('POST', '/revoke', { token: people[0]!.access_token });
    await t.ask('POST', '/revoke?scope=session', { token: people[1]!.access_token });
    await setDisabled(t.ctx, 'c@example.com', true);
    expect(await count(2)).toEqual({ accounts: 5, sessions: 2 });
    t.pass(31 * 86_400);
    expect(await count(2)).toEqual({ accounts: 5, sessions: 0 });
    const stopped = new AbortController();
    stopped.abort();
    expect(await countAccounts(t.ctx, stopped.signal, { limit: 1, restFactor: 0 })).toBeUndefined();
    await t.close();
  });
});
