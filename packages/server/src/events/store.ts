import { statement } from '../database/statement.ts';

/** Adds one event; rolled back with the transaction of its cause. */
export const insertEvent = statement<{
  id: string;
  user_id: string;
  type: string;
  session_id: string | null;
  ip_address: string | null;
  user_agent: string | null;
  detail: string | null;
  created_at: number;
}>()((db, p) =>
  db.insertInto('events').values({
    id: p.id,
    user_id: p.user_id,
    type: p.type,
    session_id: p.session_id,
    ip_address: p.ip_address,
    user_agent: p.user_agent,
    detail: p.detail,
    created_at: p.created_at,
  }),
);
