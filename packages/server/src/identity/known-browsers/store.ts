import { statement } from '../../platform/database/statement.ts';

/**
 * The account of a sign-in, if it still has the address and the session was neither stolen nor
 * disowned. A session that has been deleted was neither: stolen and disowned ones are kept until the
 * cookies that name them have expired.
 */
export const findKnownAccount = statement<{ id: string; email_key: string; session_id: string }>()((db, p) =>
  db
    .selectFrom('users')
    .select('id')
    .where('id', '=', p.id)
    .where('email_key', '=', p.email_key)
    .where((e) =>
      e.not(
        e.exists(
          e
            .selectFrom('sessions')
            .select('sessions.id')
            .where('sessions.id', '=', p.session_id)
            .where('sessions.distrusted_as', 'is not', null),
        ),
      ),
    ),
);
