// Users as services see them, on both databases.

import { expect, test } from 'bun:test';
import { outcome } from '#support/account.ts';
import { onBothDatabases } from '#support/app.ts';
import { planOf } from '#support/plan.ts';
import { fresh } from '#support/shared.ts';
import { deleteAccount } from '../../whole-account/personal-data.ts';
import { setDisabled } from './account.ts';
import { countAccounts, listUsers } from './users.ts';

onBothDatabases('users for services', (open) => {
  const t = fresh(open);

  test('a user is found by id and by address, disabled or not, until the account is deleted', async () => {
    const headers = { Authorization: await t.serviceAuthorization('users') };
    const { access_token: token } = await t.login('Ada@example.com');
    const me = (await t.ask('GET', '/me', { token })).body;
    const byId = (id: string = me.id) => t.ask('GET', `/users/${id}`, { headers });
    const byEmail = (email: string) => t.ask('POST', '/users/lookup', { headers, json: { email } });
    const user = {
      id: me.id,
      email: 'Ada@example.com',
      email_verified: true,
      name: 'Ada',
      avatar_url: null,
      disabled: false,
      created_at: me.created_at,
    };
    for (const answer of [await byId(), await byEmail('ada@EXAMPLE.com')])
      expect([answer.status, answer.body]).toEqual([200, user]);
    expect((await t.ask('HEAD', `/users/${me.id}`, { headers })).status).toBe(200);

    await setDisabled(t.ctx, 'ada@example.com', true);
    for (const answer of [await byId(), await byEmail('Ada@example.com')])
      expect(answer.body).toEqual({ ...user, disabled: true });

    await deleteAccount(t.ctx, 'ada@example.com');
    const missing = [await byEmail('ada@example.com'), await byEmail('bob@example.com')];
    for (const answer of [...missing, await byId()]) expect(outcome(answer)).toBe('404 not_found');
  });

  test('a search finds a text in addresses and names', async () => {
    for (const email of ['ada@example.com', 'BOB@example.com', 'eve_100@example.org']) await t.login(email);
    const { access_token: accessToken } = await t.login('carol@example.com');
    await t.api.call('updateProfile', { accessToken, body: { name: 'Ada’s Sister Éva' } });
    const headers = { Authorization: await t.serviceAuthorization('operate') };
    const found = async (search: string) => {
      const { body } = await t.ask('GET', `/users?search=${encodeURIComponent(search)}`, { headers });
      return body.users.map(({ email }: { email: string }) => email);
    };
    expect(await found('ADA')).toEqual(['ada@example.com', 'carol@example.com']);
    expect(await found('bob@')).toEqual(['BOB@example.com']);
    expect(await found('example.org')).toEqual(['eve_100@example.org']);
    for (const text of ['’s s', 'éva', 'Éva', 'ÉVA'])
      expect(await found(text)).toEqual(['carol@example.com']);
    // Neither is a placeholder.
    expect(await found('%')).toEqual([]);
    expect(await found('_')).toEqual(['eve_100@example.org']);
    expect(await found('nobody')).toEqual([]);
    for (const search of ['', 'x'.repeat(201)])
      expect(outcome(await t.ask('GET', `/users?search=${search}`, { headers }))).toBe('400 invalid_request');
  });

  test('a search examines a bounded number of accounts for a page, and its cursor reads on from there', async () => {
    for (let n = 0; n < 9; n++) await t.login(`user${n}@example.${n % 4 === 3 ? 'org' : 'com'}`);
    const part = { size: 2, max: 2 };
    /** The first pages that a search finds, by the numbers of the users. */
    const searched = async (search: string, limit: number, count: number) => {
      const pages: string[] = [];
      for (let cursor: string | null | undefined; cursor !== null && pages.length < count; ) {
        const page = await listUsers(t.ctx, { search, limit, cursor }, part);
        pages.push(page.users.map(({ email }) => email[4]).join(' '));
        cursor = page.next_cursor;
      }
      return pages;
    };
    expect(await searched('.ORG', 5, 9)).toEqual(['3', '7', '']);
    expect(await searched('user', 3, 2)).toEqual(['0 1 2', '3 4 5']);
  });

  test('searches take turns, so that many of them hold up other requests no longer than one', async () => {
    for (let index = 0; index < 4; index++) await t.login(`ada${index}@example.com`);
    const statementsOf = async (work: () => Promise<unknown>) => {
      const before = t.statements.length;
      await work();
      return t.statements.length - before;
    };
    const search = () => listUsers(t.ctx, { search: 'zoe', limit: 5 }, { size: 1, max: 9 });
    const alone = await statementsOf(search);
    const waiting: Promise<unknown>[] = [];
    const first = await statementsOf(() => {
      const searches = [search(), search(), search()];
      waiting.push(...searches);
      return searches[0]!;
    });
    expect(first).toBeLessThanOrEqual(alone + 1);
    await Promise.all(waiting);
  });

  test('the lists of operators start reading where the page starts, and sort nothing', async () => {
    const headers = { Authorization: await t.serviceAuthorization('operate') };
    const { access_token: token } = await t.login();
    const { id } = (await t.ask('GET', '/me', { token })).body;
    const before = t.statements.length;
    for (const path of ['', `/${id}/sessions`, `/${id}/events`, `/${id}/emails`]) {
      expect((await t.ask('GET', `/users${path}`, { headers })).status).toBe(200);
    }
    const lists = new Set(t.statements.slice(before).filter((text) => / limit /.test(text)));
    expect(lists.size).toBe(5);
    for (const text of lists) {
      // Sessions of the same millisecond may be sorted among themselves, and pages of sessions of each kind that are merged.
      const steps = (await planOf(t, text))
        .replaceAll(/Incremental Sort|USE TEMP B-TREE FOR LAST TERM/g, '')
        .replaceAll(/Sort {2}.*?Append|SCAN first.*?TEMP B-TREE/g, '');
      expect(steps.replaceAll('Sort Key', '')).not.toMatch(
        /Seq Scan on (users|sessions|events|outbox)|Sort|SCAN (users|sessions|events|outbox)|TEMP B-TREE/,
      );
    }
  });
});

onBothDatabases('an address with an international domain', (open) => {
  const app = fresh(open);
  const typed = 'Ada@B\u00fccher.example';
  const ascii = 'ada@xn--bcher-kva.example';

  test('is kept as first typed; its U-label and A-label sign in to one account, and find it', async () => {
    const profile = async (email: string) => {
      const { access_token: token } = await app.login(email);
      return (await app.ask('GET', '/me', { token })).body;
    };
    const { id, email: kept } = await profile(typed);
    expect(kept).toBe(typed);
    for (const email of [ascii, 'ADA@b\u00fccher.EXAMPLE'])
      expect(await profile(email)).toMatchObject({ id, email: typed });
    const headers = { Authorization: await app.serviceAuthorization('users') };
    for (const email of [typed, ascii])
      expect((await app.ask('POST', '/users/lookup', { json: { email }, headers })).body.id).toBe(id);
    for (const search of ['B\u00fccher', 'b\u00fcch', 'xn--bcher', 'ada@'])
      expect((await listUsers(app.ctx, { search, limit: 9 })).users.map((user) => user.id)).toEqual([id]);
  });
});

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
