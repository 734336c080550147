import { languageOf } from '@latchkey/contract/languages';
import { deleteUser, exportUser, findAccountByEmail, lockAccount } from '../../identity/account/account.ts';
import {
  emailChangeMails,
  exportEmailChanges,
  listReservedEmailKeys,
} from '../../identity/email-change/email-change.ts';
import {
  deletePersonalOrganization,
  exportMemberships,
  requireOtherOwners,
} from '../../identity/organizations/organizations.ts';
import type { Caller, Context } from '../../platform/context.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { AuthError, temporarilyUnavailable } from '../../platform/errors.ts';
import {
  deleteMails,
  deleteMailsTo,
  enqueueMail,
  exportMails,
  type MailKeys,
} from '../../platform/mail/outbox.ts';
import { lockLog } from '../../security-log/events/events.ts';
import { exportEventsOf } from '../../security-log/events/reading.ts';
import { exportFeedEvents } from '../../security-log/feed/feed.ts';
import { exportNotices, findReader, noticeMails } from '../../security-log/notices/notices.ts';
import { exportSessions, requireActiveSession } from '../../sessions/sessions.ts';
import { exportCodes } from '../../sign-in/authorize/authorize.ts';
import { exportDeviceAuthorizations } from '../../sign-in/device/device.ts';
import { deleteMagicLinksTo, exportMagicLinks } from '../../sign-in/magic-links/magic-links.ts';
import { exportPasskeys } from '../../sign-in/passkeys/passkeys.ts';
import { accountDeletedTemplate } from './mail.ts';
import * as store from './store.ts';

/** How long delivery of the last mail to a deleted account is attempted. */
const lastMailTtlMs = 86_400_000;

/** How often a deletion starts over because the account's address changed before the account was locked. */
const maxLockAttempts = 5;

type Account = Awaited<ReturnType<typeof lockAccount>>;

/**
 * Deletes the caller's account and everything that belongs to it.
 * @throws {AuthError} `conflict` for the only owner of an organization
 */
export async function deleteOwnAccount(ctx: Context, caller: Caller): Promise<void> {
  await withLocks(ctx, caller.userId, async (tx, account) => {
    await requireActiveSession(ctx, tx, caller);
    await erase(ctx, tx, account);
  });
  afterDeletion(ctx, caller.userId);
}

/**
 * Deletes the account with an address and everything that belongs to it, for the operator.
 * @throws {AuthError} `not_found`; `conflict` for the only owner of an organization
 */
export async function deleteAccount(ctx: Context, email: string): Promise<void> {
  const userId = await findAccountByEmail(ctx, email);
  await withLocks(ctx, userId, (tx, account) => erase(ctx, tx, account));
  afterDeletion(ctx, userId);
}

/**
 * Runs `work` with an account and its addresses locked. Addresses are locked before their account, so they may change
 * until the account is locked; then the transaction starts over.
 */
async function withLocks(
  ctx: Context,
  userId: string,
  work: (tx: Executor, account: Account) => Promise<void>,
): Promise<void> {
  for (let attempt = 0; attempt < maxLockAttempts; attempt++) {
    const isDone = await ctx.db.transaction(async (tx) => {
      const addresses = await store.lockAddresses(tx, { user_id: userId });
      const account = await lockAccount(tx, userId);
      if (!addresses.some(({ email_key }) => email_key === account.email_key)) return false;
      await work(tx, account);
      return true;
    });
    if (isDone) return;
  }
  throw temporarilyUnavailable(
    new Error('the address of an account kept changing while it was being locked'),
  );
}

function afterDeletion(ctx: Context, userId: string): void {
  ctx.wakeMailWorker();
  ctx.log.info({ user: userId }, 'account deleted');
}

/**
 * Deletes a locked account through the owners of its tables, and enqueues its last mail. Deleting the user deletes every
 * row that references it; what comes before finds the rows that do not.
 */
async function erase(ctx: Context, tx: Executor, { id: userId, email, email_key }: Account): Promise<void> {
  await requireOtherOwners(tx, userId);
  const reserved = await listReservedEmailKeys(ctx, tx, userId);
  await deleteMails(tx, await mailsAbout(tx, userId));
  for (const emailKey of new Set([email_key, ...reserved])) {
    await deleteMailsTo(tx, emailKey);
    await deleteMagicLinksTo(tx, emailKey);
  }
  await deletePersonalOrganization(tx, userId);
  const reader = await findReader(tx, userId);
  await enqueueMail(ctx, tx, {
    template: accountDeletedTemplate,
    recipient: email,
    reference: languageOf(reader?.locale) ?? '',
    expiresAt: ctx.clock() + lastMailTtlMs,
  });
  await lockLog(tx, userId);
  await deleteUser(ctx, tx, userId);
}

/** The mails about an account's notices and changes of address, whichever address they went to. */
async function mailsAbout(on: Executor, userId: string): Promise<MailKeys> {
  const notices = await noticeMails(on, userId);
  const changes = await emailChangeMails(on, userId);
  return { ids: notices.ids, references: [...notices.references, ...changes.references] };
}

/**
 * Everything stored about the person with an address, by table, for the operator. Leaves out hashes of tokens and codes,
 * which say nothing about the person. Times are RFC 3339.
 * @throws {AuthError} `not_found`
 */
export async function exportPersonalData(ctx: Context, email: string): Promise<Record<string, unknown>> {
  const userId = await findAccountByEmail(ctx, email);
  const on = ctx.db.read;
  const account = await exportUser(on, userId);
  if (!account) throw new AuthError('not_found', 'There is no account with this address.');
  const { email_key } = account;
  return readable({
    users: [account],
    sessions: await exportSessions(on, userId),
    passkeys: await exportPasskeys(on, userId),
    authorization_codes: await exportCodes(on, userId),
    device_authorizations: await exportDeviceAuthorizations(on, userId),
    magic_links: await exportMagicLinks(on, email_key),
    organizations: await exportMemberships(on, userId),
    events: await exportEventsOf(on, userId),
    email_changes: await exportEmailChanges(on, userId),
    feed_events: await exportFeedEvents(on, userId),
    notices: await exportNotices(on, userId),
    outbox: await exportMails(on, email_key, await mailsAbout(on, userId)),
  });
}

/** The rows with every moment as RFC 3339 instead of milliseconds since 1970. */
const readable = (tables: Record<string, readonly object[]>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(tables).map(([table, rows]) => [
      table,
      rows.map((row) =>
        Object.fromEntries(
          Object.entries(row).map(([column, value]) => [
            column,
            column.endsWith('_at') && typeof value === 'number' ? new Date(value).toISOString() : value,
          ]),
        ),
      ),
    ]),
  );
