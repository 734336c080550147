// Where the earlier sign-ins of an account came from, which a new one is compared with.

import { sql } from 'kysely';
import { statement } from '../../platform/database/statement.ts';

/** How many of the account's newest sign-ins a new one is compared with. */
const maxCompared = 100;

/** The origins of the user's newest browser sign-ins, ended sessions included, stolen and disowned ones excluded. */
export const listBrowserOrigins = statement<{ user_id: string }>()((db, p) =>
  db
    .selectFrom('sessions')
    .select(['ip_address', 'user_agent'])
    .where('user_id', '=', p.user_id)
    .where('kind', '=', sql.lit('browser'))
    .where('distrusted_as', 'is', null)
    .orderBy('created_at', 'desc')
    .limit(sql.lit(maxCompared)),
);

/** The origins of the user's newest sign-ins to an application, ended ones included, stolen and disowned ones excluded. */
export const listAppOrigins = statement<{ user_id: string; client_id: string }>()((db, p) =>
  db
    .selectFrom('sessions')
    .select(['ip_address', 'user_agent'])
    .where('user_id', '=', p.user_id)
    .where('client_id', '=', p.client_id)
    .where('distrusted_as', 'is', null)
    .orderBy('created_at', 'desc')
    .limit(sql.lit(maxCompared)),
);
