import { statement } from '../../platform/database/statement.ts';

/** How a session came about: its passkey, and the browser session that approved it, if it is of a device or application. */
export const findOrigin = statement<{ session_id: string | null; user_id: string }>()((db, p) =>
  db
    .selectFrom('sessions as s')
    .leftJoin('sessions as approver', (join) =>
      join.onRef('approver.id', '=', 's.parent_session_id').on('s.kind', 'in', ['device', 'app']),
    )
    .select(['s.passkey_id', 'approver.id', 'approver.ordinal', 'approver.passkey_id as approver_passkey_id'])
    .select(['approver.created_at', 'approver.ip_address', 'approver.user_agent', 'approver.distrusted_as'])
    .where('s.id', '=', p.session_id)
    .where('s.user_id', '=', p.user_id),
);
