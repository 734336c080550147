import type { Expression, ExpressionBuilder } from 'kysely';
import { sql } from 'kysely';
import type { Dialect } from '../../platform/database/executor.ts';
import { lockOnAddress } from '../../platform/database/locks.ts';
import type { Tables } from '../../platform/database/schema.ts';
import { statement } from '../../platform/database/statement.ts';

/** An address with ASCII letters in lower case, as `email_key` has it, whatever the locale of the database. */
const keyOf = (email: Expression<string>, dialect: Dialect) =>
  dialect === 'postgres' ? sql<string>`lower(${email} collate "C")` : sql<string>`lower(${email})`;

/** Locks the organizations that a user owns with others, so that of two last owners not both can go. */
export const lockOwnedOrganizations = statement<{ user_id: string }>()((db, p, dialect) =>
  db
    .selectFrom('organizations')
    .select('id')
    .where('personal', '=', 0)
    .where('id', 'in', (e) =>
      e
        .selectFrom('memberships')
        .select('organization_id')
        .where('user_id', '=', p.user_id)
        .where('role', '=', 'owner'),
    )
    .orderBy('id')
    .$if(dialect === 'postgres', (q) => q.forNoKeyUpdate()),
);

/** The organizations that would have no owner without this user. */
export const listSolelyOwned = statement<{ user_id: string }>()((db, p) =>
  db
    .selectFrom('organizations as o')
    .innerJoin('memberships as m', 'm.organization_id', 'o.id')
    .select('o.slug')
    .where('m.user_id', '=', p.user_id)
    .where('m.role', '=', 'owner')
    .where('o.personal', '=', 0)
    .where((e) =>
      e.not(
        e.exists(
          e
            .selectFrom('memberships as other')
            .select('other.user_id')
            .whereRef('other.organization_id', '=', 'o.id')
            .where('other.role', '=', 'owner')
            .where('other.user_id', '<>', p.user_id),
        ),
      ),
    )
    .orderBy('o.slug'),
);

/** Locks the address of an account and those it had, in one order for all, and says which. */
export const lockAddresses = statement<{ user_id: string }>()((db, p, dialect) =>
  db
    .selectFrom((e) =>
      e
        .selectFrom('users')
        .select('email_key')
        .where('id', '=', p.user_id)
        .union(
          e
            .selectFrom('email_changes')
            .select((f) => f.ref('old_email_key').$notNull().as('email_key'))
            .where('user_id', '=', p.user_id)
            .where('old_email_key', 'is not', null),
        )
        .orderBy('email_key')
        // Not flattened, so that the locks are taken in this order.
        .limit(sql.lit(1_000_000))
        .as('addresses'),
    )
    .select((e) => ['addresses.email_key', lockOnAddress(e.ref('addresses.email_key'), dialect).as('lock')]),
);

/** The addresses that an account gave up and that are still kept for it. */
export const listReservedEmails = statement<{ user_id: string; now: number }>()((db, p) =>
  db
    .selectFrom('email_changes')
    .select('old_email_key')
    .where('user_id', '=', p.user_id)
    .where('undone_at', 'is', null)
    .where('changed_at', 'is not', null)
    .where('expires_at', '>', p.now),
);

export const deletePersonalOrganization = statement<{ user_id: string }>()((db, p) =>
  db
    .deleteFrom('organizations')
    .where('personal', '=', 1)
    .where('id', 'in', (e) =>
      e.selectFrom('memberships').select('organization_id').where('user_id', '=', p.user_id),
    ),
);

const isMailOf = (e: ExpressionBuilder<Tables, 'outbox'>, user_id: Expression<string>) =>
  e.or([
    e('reference', 'in', e.selectFrom('notices').select('id').where('user_id', '=', user_id)),
    e(
      'id',
      'in',
      e
        .selectFrom('notices')
        .select('digest_id')
        .where('user_id', '=', user_id)
        .where('digest_id', 'is not', null),
    ),
    e('reference', 'in', e.selectFrom('email_changes').select('id').where('user_id', '=', user_id)),
  ]);

/** Deletes the notices and links of an account from the outbox, to whatever address they went. */
export const deleteMailsOf = statement<{ user_id: string }>()((db, p) =>
  db.deleteFrom('outbox').where((e) => isMailOf(e, p.user_id)),
);

/** Deletes all mails to an address, waiting, sent or given up. */
export const deleteMailsTo = statement<{ email_key: string }>()((db, p, dialect) =>
  db.deleteFrom('outbox').where((e) => e(keyOf(e.ref('recipient'), dialect), '=', p.email_key)),
);

export const deleteMagicLinks = statement<{ email_key: string }>()((db, p) =>
  db.deleteFrom('magic_links').where('email_key', '=', p.email_key),
);

/**
 * Deletes an account; with it go its sessions, passkeys, device logins, memberships, events, changes of address
 * and notices.
 */
export const deleteUser = statement<{ user_id: string }>()((db, p) =>
  db.deleteFrom('users').where('id', '=', p.user_id).returning('id'),
);

export const exportUser = statement<{ user_id: string }>()((db, p) =>
  db.selectFrom('users').selectAll().where('id', '=', p.user_id),
);

export const exportSessions = statement<{ user_id: string }>()((db, p) =>
  db
    .selectFrom('sessions')
    .select([
      'id',
      'kind',
      'method',
      'client_name',
      'device_name',
      'ip_address',
      'user_agent',
      'created_at',
      'last_used_at',
      'rotated_at',
      'rotated_network',
      'idle_expires_at',
      'expires_at',
      'revoked_at',
      'parent_session_id',
      'passkey_id',
      'passkey_added_by',
      'email_change_id',
      'distrusted_as',
    ])
    .where('user_id', '=', p.user_id)
    .orderBy('created_at'),
);

export const exportPasskeys = statement<{ user_id: string }>()((db, p) =>
  db.selectFrom('passkeys').selectAll().where('user_id', '=', p.user_id).orderBy('created_at'),
);

export const exportDeviceAuthorizations = statement<{ user_id: string }>()((db, p) =>
  db
    .selectFrom('device_authorizations')
    .select([
      'status',
      'client_id',
      'client_name',
      'device_name',
      'scope',
      'ip_address',
      'user_agent',
      'created_at',
      'expires_at',
      'redeemed_at',
      'approved_by',
      'session_id',
    ])
    .where('user_id', '=', p.user_id)
    .orderBy('created_at'),
);

export const exportMagicLinks = statement<{ email_key: string }>()((db, p) =>
  db
    .selectFrom('magic_links')
    .select(['email', 'created_at', 'expires_at', 'code_tries', 'spent_at'])
    .where('email_key', '=', p.email_key)
    .orderBy('created_at'),
);

export const exportMemberships = statement<{ user_id: string }>()((db, p) =>
  db
    .selectFrom('memberships as m')
    .innerJoin('organizations as o', 'o.id', 'm.organization_id')
    .select(['o.id', 'o.slug', 'o.name', 'o.personal', 'm.role', 'm.joined_at'])
    .where('m.user_id', '=', p.user_id)
    .orderBy('m.joined_at'),
);

export const exportEvents = statement<{ user_id: string }>()((db, p) =>
  db.selectFrom('events').selectAll().where('user_id', '=', p.user_id).orderBy('created_at').orderBy('id'),
);

export const exportEmailChanges = statement<{ user_id: string }>()((db, p) =>
  db
    .selectFrom('email_changes')
    .select([
      'session_id',
      'new_email',
      'old_email',
      'created_at',
      'expires_at',
      'changed_at',
      'voided_at',
      'undone_at',
      'wrong_addresses',
    ])
    .where('user_id', '=', p.user_id)
    .orderBy('created_at'),
);

export const exportNotices = statement<{ user_id: string }>()((db, p) =>
  db
    .selectFrom('notices')
    .select([
      'kind',
      'session_id',
      'client_name',
      'device_name',
      'passkey_name',
      'new_email',
      'ip_address',
      'user_agent',
      'created_at',
      'expires_at',
      'disowned_at',
      'restored_email',
      'outcome',
      'approver_disowned_at',
    ])
    .where('user_id', '=', p.user_id)
    .orderBy('created_at'),
);

export const exportMails = statement<{ user_id: string; email_key: string }>()((db, p, dialect) =>
  db
    .selectFrom('outbox')
    .select([
      'template',
      'recipient',
      'created_at',
      'expires_at',
      'attempts',
      'sent_at',
      'dead_at',
      'last_error',
    ])
    .where((e) => e.or([e(keyOf(e.ref('recipient'), dialect), '=', p.email_key), isMailOf(e, p.user_id)]))
    .orderBy('created_at'),
);
