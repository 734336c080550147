import { statement } from '../../platform/database/statement.ts';

/** All stored sessions of an account with what each came from. */
export const listSessionOrigins = statement<{ user_id: string }>()((db, p) =>
  db
    .selectFrom('sessions as s')
    .select([
      's.id',
      's.kind',
      's.ip_address',
      's.user_agent',
      's.created_at',
      's.distrusted_as',
      's.client_name',
      's.device_name',
      's.revoked_at',
      's.idle_expires_at',
      's.session_epoch',
      's.parent_session_id',
      's.passkey_id',
      's.email_change_id',
      's.passkey_added_by',
    ])
    .where('s.user_id', '=', p.user_id)
    .orderBy('s.created_at', 'desc'),
);

/** The session that approved a device or application; no row if it has been disowned already or is no longer stored. */
export const findApprover = statement<{ session_id: string; user_id: string }>()((db, p) =>
  db
    .selectFrom('sessions as device')
    .innerJoin('sessions as approver', 'approver.id', 'device.parent_session_id')
    .select(['approver.id', 'approver.created_at', 'approver.ip_address', 'approver.user_agent'])
    .where('device.id', '=', p.session_id)
    .where('device.user_id', '=', p.user_id)
    .where('device.kind', 'in', ['device', 'app'])
    .where('approver.user_id', '=', p.user_id)
    .where((e) =>
      e.or([e('approver.distrusted_as', 'is', null), e('approver.distrusted_as', '<>', 'disowned')]),
    ),
);
