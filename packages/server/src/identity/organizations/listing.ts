import type { Organization } from '@latchkey/contract/organizations';
import type { Context } from '../../platform/context.ts';
import { type PageRequest, paginate, parseCursor } from '../../platform/database/pagination.ts';
import * as store from './store.ts';

/** One page of the organizations of a user, oldest membership first. */
export async function listOrganizations(
  ctx: Context,
  userId: string,
  page: PageRequest,
): Promise<{ organizations: Organization[]; next_cursor: string | null }> {
  const after = parseCursor(page.cursor, { time: -1, id: '' });
  const rows = await store.listMemberships(ctx.db.read, {
    user_id: userId,
    after_time: after.time,
    after_id: after.id,
    limit: page.limit + 1,
  });
  const { entries, next_cursor } = paginate(rows, page.limit, (row) => ({ time: row.joined_at, id: row.id }));
  const organizations = entries.map((row) => ({
    id: row.id,
    slug: row.slug,
    name: row.name,
    role: row.role,
    personal: row.personal === 1,
    joined_at: new Date(row.joined_at).toISOString(),
  }));
  return { organizations, next_cursor };
}
