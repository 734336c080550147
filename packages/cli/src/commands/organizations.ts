import type { Organization } from '@latchkey/contract/organizations';
import { connect } from '../connection.ts';
import type { Context } from '../context.ts';
import { allPages, printList } from '../pages.ts';
import { localTime } from '../text.ts';

/** `latchkey organizations`: the user's organizations, oldest membership first. */
export async function organizations(ctx: Context): Promise<void> {
  const { session } = await connect(ctx);
  const { entries, next_cursor } = await allPages<Organization>(async (query) => {
    const page = await session.call('listOrganizations', { query, signal: ctx.signal });
    return { entries: page.organizations, next_cursor: page.next_cursor };
  });
  printList(ctx, {
    json: { organizations: entries, next_cursor },
    heading: ['SLUG', 'NAME', 'ROLE', 'JOINED'],
    rows: entries.map(({ slug, name, role, joined_at }) => [slug, name, role, localTime(joined_at)]),
  });
}
