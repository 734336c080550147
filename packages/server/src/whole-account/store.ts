import { sql } from 'kysely';
import type { Tables } from '../platform/database/schema.ts';
import { statement, textsOf } from '../platform/database/statement.ts';

/** All rows of a table in which a column names a person, oldest first. */
const rowsOf = (table: keyof Tables, column: string, order = 'created_at') =>
  statement<{ person: string }>()((db, p) =>
    db
      .selectFrom(sql<Record<string, unknown>>`${sql.table(table)}`.as('t'))
      .selectAll()
      .where(sql.ref(column), '=', p.person)
      .orderBy(sql.ref(order)),
  );

export const rowsOfUser = {
  sessions: rowsOf('sessions', 'user_id'),
  passkeys: rowsOf('passkeys', 'user_id'),
  authorization_codes: rowsOf('authorization_codes', 'user_id'),
  device_authorizations: rowsOf('device_authorizations', 'user_id'),
  events: rowsOf('events', 'user_id', 'seq'),
  email_changes: rowsOf('email_changes', 'user_id'),
  feed_events: rowsOf('feed_events', 'user_id', 'seq'),
  notices: rowsOf('notices', 'user_id'),
};

/** The emails to any of these addresses or about a user. `email_keys` is a JSON array. */
export const mailsOf = statement<{ user_id: string; email_keys: string }>()((db, p, dialect) =>
  db
    .selectFrom('outbox')
    .selectAll()
    .where((e) =>
      e.or([e('recipient_key', 'in', textsOf(p.email_keys, dialect)), e('user_id', '=', p.user_id)]),
    )
    .orderBy('created_at'),
);

/** The links that were sent to any of these addresses. `email_keys` is a JSON array. */
export const magicLinksTo = statement<{ email_keys: string }>()((db, p, dialect) =>
  db
    .selectFrom('magic_links')
    .selectAll()
    .where('email_key', 'in', textsOf(p.email_keys, dialect))
    .orderBy('created_at'),
);

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
