import { findAccountByEmail, lockAccount } from '../../identity/account/account.ts';
import type { Caller, Context } from '../../platform/context.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { AuthError, temporarilyUnavailable } from '../../platform/errors.ts';
import { enqueueMail } from '../../platform/mail/outbox.ts';
import { requireActiveSession } from '../../sessions/sessions.ts';
import { accountDeletedTemplate } from './mail.ts';
import * as store from './store.ts';

/** How long the last mail to a deleted account is tried. */
const goodbyeTtlMs = 86_400_000;

/** How often an account is locked anew whose address changed meanwhile. */
const lockTries = 5;

/**
 * Deletes the account of whoever is logged in, with everything of it.
 * @throws {AuthError} `conflict` for the only owner of an organization
 */
export async function deleteOwnAccount(ctx: Context, caller: Caller): Promise<void> {
  await withLocks(ctx, caller.userId, async (tx, account) => {
    await requireActiveSession(ctx, tx, caller);
    await erase(ctx, tx, account);
  });
  noteDeletion(ctx, caller.userId);
}

/**
 * Deletes the account of an address, with everything of it, for the operator.
 * @throws {AuthError} `not_found`; `conflict` for the only owner of an organization
 */
export async function deleteAccount(ctx: Context, email: string): Promise<void> {
  const userId = await findAccountByEmail(ctx, email);
  await withLocks(ctx, userId, (tx, account) => erase(ctx, tx, account));
  noteDeletion(ctx, userId);
}

/**
 * Runs `work` with an account and its address locked. The address has to be locked first and may change until the account
 * is: then all of it begins again.
 */
async function withLocks(
  ctx: Context,
  userId: string,
  work: (tx: Executor, account: Awaited<ReturnType<typeof lockAccount>>) => Promise<void>,
): Promise<void> {
  for (let tries = 0; tries < lockTries; tries++) {
    const isDone = await ctx.db.transaction(async (tx) => {
      const locked = await store.lockAddresses(tx, { user_id: userId });
      const account = await lockAccount(tx, userId);
      if (!locked.some(({ email_key }) => email_key === account.email_key)) return false;
      await work(tx, account);
      return true;
    });
    if (isDone) return;
  }
  throw temporarilyUnavailable(new Error('the address of an account changed again and again'));
}

function noteDeletion(ctx: Context, userId: string): void {
  ctx.wakeMailWorker();
  ctx.log.info({ user: userId }, 'account deleted');
}

/** Deletes a locked account and writes its last mail. */
async function erase(
  ctx: Context,
  tx: Executor,
  account: { readonly id: string; readonly email: string; readonly email_key: string },
): Promise<void> {
  const user = { user_id: account.id };
  const now = ctx.clock();
  await store.lockOwnedOrganizations(tx, user);
  const owned = await store.listSolelyOwned(tx, user);
  if (owned.length > 0) {
    const slugs = owned.map(({ slug }) => slug).join(', ');
    throw new AuthError(
      'conflict',
      `The account is the only owner of ${slugs}. Make somebody else an owner first.`,
    );
  }
  const former = await store.listReservedEmails(tx, { ...user, now });
  await store.deleteMailsOf(tx, user);
  for (const email_key of new Set([account.email_key, ...former.map((row) => row.old_email_key!)])) {
    await store.deleteMailsTo(tx, { email_key });
    await store.deleteMagicLinks(tx, { email_key });
  }
  await store.deletePersonalOrganization(tx, user);
  await store.deleteUser(tx, user);
  await enqueueMail(ctx, tx, {
    template: accountDeletedTemplate,
    recipient: account.email,
    reference: '',
    expiresAt: now + goodbyeTtlMs,
  });
}

/**
 * Everything that is held about the person with an address, by table, for the operator. Hashes of tokens and codes
 * are left out; they say nothing about the person. Times are RFC 3339.
 * @throws {AuthError} `not_found`
 */
export async function exportPersonalData(ctx: Context, email: string): Promise<Record<string, unknown>> {
  const user = { user_id: await findAccountByEmail(ctx, email) };
  const on = ctx.db.read;
  const [account] = await store.exportUser(on, user);
  if (!account) throw new AuthError('not_found', 'There is no account with this address.');
  const { email_key } = account;
  return readable({
    users: [account],
    sessions: await store.exportSessions(on, user),
    passkeys: await store.exportPasskeys(on, user),
    device_authorizations: await store.exportDeviceAuthorizations(on, user),
    magic_links: await store.exportMagicLinks(on, { email_key }),
    organizations: await store.exportMemberships(on, user),
    events: await store.exportEvents(on, user),
    email_changes: await store.exportEmailChanges(on, user),
    notices: await store.exportNotices(on, user),
    outbox: await store.exportMails(on, { ...user, email_key }),
  });
}

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
