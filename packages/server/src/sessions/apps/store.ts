// The sessions of applications, by their client.

import { statement } from '../../platform/database/statement.ts';
import { endedColumns } from '../runs/store.ts';
import { isActive } from '../status.ts';

/** The accounts with active sessions of a client, by ascending id. */
export const listAccountsOfClient = statement<{ client_id: string; now: number }>()((db, p, dialect) =>
  db
    .selectFrom('sessions')
    .select('user_id')
    .distinct()
    .where('client_id', '=', p.client_id)
    .where(isActive(p.now, dialect, { end: 'expires_at' }))
    .orderBy('user_id'),
);

/** What the newest active sessions of a client in one account may do. */
export const listAccessOfClient = statement<{
  client_id: string;
  user_id: string;
  now: number;
  limit: number;
}>()((db, p, dialect) =>
  db
    .selectFrom('sessions')
    .select(['scope', 'resource'])
    .where('user_id', '=', p.user_id)
    .where('client_id', '=', p.client_id)
    .where(isActive(p.now, dialect))
    // By the index of the account: a client may have the sessions of everybody.
    .orderBy('created_at', 'desc')
    .limit(p.limit),
);

/** Ends the active sessions of a client in one account; a row for each. */
export const endSessionsOfClient = statement<{ client_id: string; user_id: string; now: number }>()(
  (db, p, dialect) =>
    db
      .updateTable('sessions')
      .set({ revoked_at: p.now, idle_expires_at: p.now })
      .where('client_id', '=', p.client_id)
      .where('user_id', '=', p.user_id)
      .where(isActive(p.now, dialect, { end: 'expires_at' }))
      .returning(endedColumns),
);
