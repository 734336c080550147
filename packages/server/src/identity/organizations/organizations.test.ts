// The organizations of a user on both databases: pages, order and visibility.

import { expect, test } from 'bun:test';
import type { Organization } from '@latchkey/contract/organizations';
import { onBothDatabases } from '../../../../../tests/support/app.ts';
import { addMember, createOrganization } from '../../../../../tests/support/organizations.ts';
import { pagesOf } from '../../../../../tests/support/pages.ts';
import { fresh } from '../../../../../tests/support/shared.ts';
import { findAccountByEmail } from '../account/account.ts';

onBothDatabases('organizations', (open) => {
  const t = fresh(open);
  const list = (token: string, query = '') => t.ask('GET', `/organizations${query}`, { token });

  /** Adds a user to `count` organizations. Some memberships share a millisecond, others are a second apart. */
  async function join(email: string, count: number): Promise<void> {
    const userId = await findAccountByEmail(t.ctx, email);
    // The personal organization is older.
    t.pass(1);
    for (let n = 0; n < count; n++) {
      await createOrganization(t.ctx, `org-${n}`, `Organization <b>${n}`);
      await addMember(t.ctx, `org-${n}`, userId, 'admin');
      if (n % 40 === 0) t.pass(1);
    }
  }

  test('120 memberships are listed once each with all their members, oldest first, whatever the page limit', async () => {
    const { access_token: token } = await t.login();
    await join('ADA@example.com', 119);
    const pages = (limit: number) =>
      pagesOf<Organization>(t, '/organizations', 'organizations', limit, { token });
    const whole = (await pages(100)).flat();
    expect(new Set(whole.map(({ slug }) => slug)).size).toBe(120);
    expect(whole[0]).toMatchObject({ personal: true, role: 'owner' });
    expect(whole[1]).toEqual({
      id: expect.stringMatching(/^org_/),
      slug: 'org-0',
      name: 'Organization <b>0',
      role: 'admin',
      personal: false,
      joined_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    expect(whole.map(({ joined_at }) => joined_at)).toEqual(whole.map(({ joined_at }) => joined_at).sort());
    for (const [limit, sizes] of [
      [7, [...Array(17).fill(7), 1]],
      [40, [40, 40, 40]],
      [60, [60, 60]],
      [100, [100, 20]],
    ] as [number, number[]][]) {
      const found = await pages(limit);
      expect(found.map((page) => page.length)).toEqual(sizes);
      expect(found.flat()).toEqual(whole);
    }
    expect((await list(token)).body.organizations).toEqual(whole.slice(0, 50));
  });

  test("a user never sees another user's organizations, even with that user's cursor", async () => {
    const [ada, bob] = [await t.login(), await t.login('bob@example.com')];
    await join('ada@example.com', 3);
    const first = await list(ada.access_token, '?limit=1');
    for (const query of ['', `?cursor=${first.body.next_cursor}`]) {
      const { organizations } = (await list(bob.access_token, query)).body;
      for (const { slug } of organizations) expect(slug).toStartWith('bob-');
      expect(organizations.length).toBeLessThanOrEqual(1);
    }
  });

  test('users with the same local part get personal organizations with different slugs', async () => {
    const slugs = new Set<string>();
    for (const name of ['ada@a', 'ada@b', '\u00fc@a', `${'x'.repeat(64)}@a`]) {
      const { access_token } = await t.login(`${name}.example`);
      slugs.add((await list(access_token)).body.organizations[0].slug);
    }
    expect(slugs.size).toBe(4);
    for (const slug of slugs) expect(slug).toMatch(/^[a-z0-9](-?[a-z0-9]){0,38}$/);
  });
});
