import { sql } from 'kysely';
import { statement } from './statement.ts';

/** Answers when the store can be reached and its schema is there. */
export const probe = statement<Record<never, never>>()((db) =>
  db.selectFrom('users').select(sql<number>`1`.as('one')).limit(1),
);
