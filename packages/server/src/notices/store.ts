import type { NoticeKind } from '@latchkey/contract/notices';
import { statement } from '../database/statement.ts';

/** Where the notices of an account go; no row when it is gone. */
export const findAddress = statement<{ user_id: string }>()((db, p) =>
  db.selectFrom('users').select('email').where('id', '=', p.user_id),
);

export const insertNotice = statement<{
  id: string;
  user_id: string;
  kind: NoticeKind;
  session_id: string | null;
  email_change_id: string | null;
  client_name: string | null;
  device_name: string | null;
  passkey_name: string | null;
  new_email: string | null;
  ip_address: string | null;
  user_agent: string | null;
  now: number;
  expires_at: number;
}>()((db, p) =>
  db.insertInto('notices').values({
    id: p.id,
    user_id: p.user_id,
    kind: p.kind,
    session_id: p.session_id,
    email_change_id: p.email_change_id,
    client_name: p.client_name,
    device_name: p.device_name,
    passkey_name: p.passkey_name,
    new_email: p.new_email,
    ip_address: p.ip_address,
    user_agent: p.user_agent,
    created_at: p.now,
    expires_at: p.expires_at,
  }),
);

export const findNotice = statement<{ id: string }>()((db, p) =>
  db.selectFrom('notices').selectAll().where('id', '=', p.id),
);

/** Deletes some notices whose links ended before a moment. */
export const sweepNotices = statement<{ before: number; limit: number }>()((db, p, dialect) =>
  db
    .deleteFrom('notices')
    .where('id', 'in', (e) =>
      e
        .selectFrom('notices')
        .select('id')
        .where('expires_at', '<', p.before)
        .limit(p.limit)
        .$if(dialect === 'postgres', (q) => q.forUpdate().skipLocked()),
    )
    .returning('id'),
);
