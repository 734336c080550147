import { sql } from 'kysely';
import { statement } from './statement.ts';

/** Fails when the database is unreachable or has no schema. */
export const probe = statement()((db) => db.selectFrom('outbox').select(sql<number>`1`.as('one')).limit(1));
