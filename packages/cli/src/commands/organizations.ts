import { allPages } from '@latchkey/client/internal/pages';
import { connect } from '../connection.ts';
import type { Context } from '../context.ts';
import { printList } from '../pages.ts';
import { localTime } from '../text.ts';

/** `latchkey organizations`: the user's organizations, oldest membership first. */
export async function organizations(ctx: Context): Promise<void> {
  const { session } = await connect(ctx);
  const { entries, next_cursor } = await allPages('organizations', (query) =>
    session.call('listOrganizations', { query, signal: ctx.signal }),
  );
  printList(ctx, {
    json: { organizations: entries, next_cursor },
    heading: ['SLUG', 'NAME', 'ROLE', 'JOINED'],
    rows: entries.map(({ slug, name, role, joined_at }) => [slug, name, role, localTime(joined_at)]),
  });
}
