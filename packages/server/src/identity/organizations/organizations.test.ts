// The organizations of a user on both databases: pages, order and visibility.

import { expect, test } from 'bun:test';
import type { Organization } from '@latchkey/contract/organizations';
import { type Answer, onBothDatabases, type TestApp } from '../../../../../tests/support/app.ts';
import { addMember, createOrganization } from '../../../../../tests/support/organizations.ts';
import { fresh } from '../../../../../tests/support/shared.ts';
import { findAccountByEmail } from '../account/account.ts';

const list = (t: TestApp, token: string, query = ''): Promise<Answer> =>
  t.ask('GET', `/organizations${query}`, { token });

/** Adds a user to `count` organizations. Some memberships share a millisecond, others are a second apart. */
async function join(t: TestApp, email: string, count: number): Promise<void> {
  const userId = await findAccountByEmail(t.ctx, email);
  // The personal organization is older.
  t.pass(1);
  for (let n = 0; n < count; n++) {
    await createOrganization(t.ctx, `org-${n}`, `Organization ${n}`);
    await addMember(t.ctx, `org-${n}`, userId, 'member');
    if (n % 40 === 0) t.pass(1);
  }
}

async function allPages(t: TestApp, token: string, limit: number): Promise<Organization[][]> {
  const pages: Organization[][] = [];
  let cursor: string | null = null;
  do {
    const query: string = `?limit=${limit}${cursor === null ? '' : `&cursor=${cursor}`}`;
    const { status, body } = await list(t, token, query);
    expect(status).toBe(200);
    pages.push(body.organizations);
    cursor = body.next_cursor;
  } while (cursor !== null && pages.length < 200);
  return pages;
}

onBothDatabases('organizations', (open) => {
  const t = fresh(open);

  test('120 memberships are listed once each, oldest first, whatever the page limit', async () => {
    const { access_token } = await t.login();
    await join(t, 'ada@example.com', 119);
    const whole = (await allPages(t, access_token, 100)).flat();
    expect(new Set(whole.map((organization) => organization.slug)).size).toBe(120);
    expect(whole[0]).toMatchObject({ personal: true, role: 'owner' });
    expect(whole.map(({ joined_at }) => joined_at)).toEqual(whole.map(({ joined_at }) => joined_at).sort());
    for (const [limit, sizes] of [
      [7, [...Array(17).fill(7), 1]],
      [40, [40, 40, 40]],
      [60, [60, 60]],
      [100, [100, 20]],
    ] as [number, number[]][]) {
      const pages = await allPages(t, access_token, limit);
      expect(pages.map((page) => page.length)).toEqual(sizes);
      expect(pages.flat()).toEqual(whole);
    }
    const { body } = await list(t, access_token);
    expect(body.organizations).toEqual(whole.slice(0, 50));
  });

  test('an organization has exactly the documented members', async () => {
    const { access_token } = await t.login();
    t.pass(1);
    await createOrganization(t.ctx, 'acme', 'Acme <b>&</b> Co');
    await addMember(t.ctx, 'acme', await findAccountByEmail(t.ctx, 'ADA@example.com'), 'admin');
    const { body } = await list(t, access_token);
    expect(body.next_cursor).toBeNull();
    expect(body.organizations[1]).toEqual({
      id: expect.stringMatching(/^org_/),
      slug: 'acme',
      name: 'Acme <b>&</b> Co',
      role: 'admin',
      personal: false,
      joined_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
  });

  test("a user never sees another user's organizations, even with that user's cursor", async () => {
    const ada = await t.login();
    const bob = await t.login('bob@example.com');
    await join(t, 'ada@example.com', 3);
    const first = await list(t, ada.access_token, '?limit=1');
    const seen = [
      await list(t, bob.access_token),
      await list(t, bob.access_token, `?cursor=${first.body.next_cursor}`),
    ];
    for (const { body } of seen) {
      for (const organization of body.organizations) expect(organization.slug).toStartWith('bob-');
    }
    expect(seen[0]!.body.organizations).toHaveLength(1);
    expect((await list(t, 'lk_at_x')).status).toBe(401);
  });

  test('a personal or missing organization cannot be joined, and a slug can be used only once', async () => {
    const { access_token } = await t.login();
    await t.login('bob@example.com');
    const bob = await findAccountByEmail(t.ctx, 'bob@example.com');
    const { slug } = (await list(t, access_token)).body.organizations[0];
    const code = (work: Promise<unknown>) =>
      work.then(
        () => 'done',
        (error) => error.code,
      );
    expect(await code(addMember(t.ctx, slug, bob, 'member'))).toBe('conflict');
    expect(await code(addMember(t.ctx, 'nowhere', bob, 'member'))).toBe('not_found');
    const created = await Promise.all([1, 2, 3].map(() => code(createOrganization(t.ctx, 'acme', 'A'))));
    expect(created.sort()).toEqual(['done', 'precondition_failed', 'precondition_failed']);
    for (const bad of ['', 'A', '-a', 'a-', 'a b', 'ä', 'a'.repeat(65), '../x']) {
      expect(await code(createOrganization(t.ctx, bad, 'A'))).toBe('invalid_request');
    }
    for (const bad of ['', ' ', 'x'.repeat(101)]) {
      expect(await code(createOrganization(t.ctx, 'fine', bad))).toBe('invalid_request');
    }
  });

  test('users with the same local part get personal organizations with different slugs', async () => {
    const slugs = [];
    for (const email of [
      'ada@a.example',
      'ada@b.example',
      '\u00fc@a.example',
      `${'x'.repeat(64)}@a.example`,
    ]) {
      const { access_token } = await t.login(email);
      slugs.push((await list(t, access_token)).body.organizations[0].slug);
    }
    expect(new Set(slugs).size).toBe(4);
    for (const slug of slugs) expect(slug).toMatch(/^[a-z0-9](-?[a-z0-9]){0,38}$/);
  });
});
