import type { Organization } from '@latchkey/contract/organizations';
import { connect } from '../connection.ts';
import type { Context } from '../context.ts';
import { allPages, moreLines } from '../pages.ts';
import { localTime, table } from '../text.ts';

/** `latchkey organizations`: what the user belongs to, oldest membership first. */
export async function organizations(ctx: Context): Promise<void> {
  const { session } = await connect(ctx);
  const { entries, next_cursor } = await allPages<Organization>(async (query) => {
    const page = await session.call('listOrganizations', { query, signal: ctx.signal });
    return { entries: page.organizations, next_cursor: page.next_cursor };
  });
  ctx.output.result({ organizations: entries, next_cursor }, () => [
    ...table([
      ['SLUG', 'NAME', 'ROLE', 'JOINED'],
      ...entries.map(({ slug, name, role, joined_at }) => [slug, name, role, localTime(joined_at)]),
    ]),
    ...moreLines(next_cursor),
  ]);
}
