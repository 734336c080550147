import { everything } from '@latchkey/contract/scopes';
import type { Session } from '@latchkey/contract/sessions';
import type { Context } from '../platform/context.ts';
import { type PageRequest, paginate, placeOf } from '../platform/database/pagination.ts';
import * as store from './store.ts';
import { parseDetails, withinOf } from './tokens.ts';

/** One page of a user's active sessions, newest first. `sessionId` is the current one, if the user asks. */
export async function listSessions(
  ctx: Context,
  { userId, sessionId }: { readonly userId: string; readonly sessionId?: string },
  page: PageRequest,
): Promise<{ sessions: Session[]; next_cursor: string | null }> {
  const rows = await store.listSessions(ctx.db.read, {
    user_id: userId,
    now: ctx.clock(),
    ...placeOf(page, { time: Number.MAX_SAFE_INTEGER, id: 'ses_' }),
  });
  const { entries, next_cursor } = paginate(rows, page.limit, ({ created_at: time, id }) => ({ time, id }));
  const sessions = entries.map((row) => ({
    id: row.id,
    kind: row.kind,
    method: row.method,
    client_name: row.client_name,
    device_name: row.device_name,
    ip_address: row.ip_address,
    user_agent: row.user_agent,
    created_at: new Date(row.created_at).toISOString(),
    last_used_at: new Date(row.last_used_at).toISOString(),
    current: row.id === sessionId,
    scope: row.scope ?? everything,
    resource: row.resource,
    ...(row.client_id === null ? {} : { client_id: row.client_id }),
    ...(row.path === null
      ? {}
      : { within: withinOf(row.path), authorization_details: parseDetails(row.authorization_details) }),
  }));
  return { sessions, next_cursor };
}
