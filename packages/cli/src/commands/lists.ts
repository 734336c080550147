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

/** `latchkey passkeys`: the user's passkeys, newest first. They are added and removed in the browser. */
export async function passkeys(ctx: Context): Promise<void> {
  const { session, server } = await connect(ctx);
  const list = await session.call('listPasskeys', { signal: ctx.signal });
  printList(ctx, {
    json: list,
    heading: ['ID', 'NAME', 'BACKED UP', 'CREATED', 'LAST USED'],
    rows: list.passkeys.map(({ id, name, backed_up, created_at, last_used_at }) => [
      id,
      name,
      backed_up ? 'yes' : 'no',
      localTime(created_at),
      last_used_at === null ? 'never' : localTime(last_used_at),
    ]),
    none: `You have no passkeys. Add one at ${server}/account.`,
  });
}
