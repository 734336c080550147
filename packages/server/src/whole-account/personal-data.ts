import { languageOf } from '@latchkey/contract/languages';
import { deleteUser, findAccountByEmail, findAccountOf, noSuchAccount } from '../identity/account/account.ts';
import { listReservedEmails, lockAccountAndAddresses } from '../identity/email-change/email-change.ts';
import {
  deletePersonalOrganization,
  exportMemberships,
  requireOtherOwners,
} from '../identity/organizations/organizations.ts';
import type { Caller, Context } from '../platform/context.ts';
import type { Executor } from '../platform/database/executor.ts';
import { untilDone } from '../platform/database/races.ts';
import { deleteMailsOf, enqueueMail } from '../platform/mail/outbox.ts';
import { shownValue } from '../platform/values/shown.ts';
import { closeLog } from '../security-log/events/events.ts';
import { findOwner } from '../security-log/notices/notices.ts';
import { lockAccountAs } from '../sessions/sessions.ts';
import { deleteMagicLinksTo } from '../sign-in/magic-links/magic-links.ts';
import { accountDeletedTemplate } from './mail.ts';
import * as store from './store.ts';

/** How long delivery of the last mail to a deleted account is attempted. */
const lastMailTtlMs = 86_400_000;

type Account = Awaited<ReturnType<typeof lockAccountAndAddresses>>;

/** Deletes the caller's account. @throws {AuthError} `conflict` for the only owner of an organization */
export const deleteOwnAccount = (ctx: Context, caller: Caller): Promise<void> =>
  deleteById(ctx, caller.userId, (tx) => lockAccountAs(ctx, tx, caller));

/** @throws {AuthError} `not_found`; `conflict` for the only owner of an organization */
export const deleteAccount = async (ctx: Context, email: string): Promise<void> =>
  deleteById(ctx, await findAccountByEmail(ctx, email));

/** Addresses are locked before their account; if they change until then, the transaction starts over. */
async function deleteById(ctx: Context, userId: string, lock?: (tx: Executor) => Promise<Account>) {
  await untilDone(ctx.db, 'the address of an account kept changing while it was being locked', async (tx) => {
    const account = await lockAccountAndAddresses(tx, userId, lock);
    await erase(ctx, tx, account);
    return 'done';
  });
  ctx.wakeMailWorker();
  ctx.log.info({ user: userId }, 'account deleted');
}

/** The keys of an account's address, and of its former ones that are still reserved for it. */
async function addressKeysOf(
  ctx: Context,
  on: Executor,
  { id, email_key }: Pick<Account, 'id' | 'email_key'>,
) {
  const reserved = await listReservedEmails(on, { user_id: id, now: ctx.clock() });
  return new Set([email_key, ...reserved.map((address) => address.email_key)]);
}

/** Deleting the user deletes all rows that reference it; the steps before delete the others. */
async function erase(ctx: Context, tx: Executor, { id: userId, email, email_key }: Account): Promise<void> {
  await requireOtherOwners(tx, userId);
  const emailKeys = await addressKeysOf(ctx, tx, { id: userId, email_key });
  await deleteMailsOf(tx, userId, emailKeys);
  for (const emailKey of emailKeys) await deleteMagicLinksTo(tx, emailKey);
  await deletePersonalOrganization(tx, { user_id: userId });
  const reader = await findOwner(tx, userId);
  await enqueueMail(ctx, tx, {
    template: accountDeletedTemplate,
    recipient: email,
    recipientKey: email_key,
    reference: languageOf(reader?.locale) ?? '',
    expiresAt: ctx.clock() + lastMailTtlMs,
  });
  await closeLog(ctx, tx, userId);
  await deleteUser(ctx, tx, userId);
}

/**
 * For the operator: everything stored about the person with an address, by table. Leaves out hashes of tokens
 * and codes, which say nothing about the person. Times are RFC 3339.
 * @throws {AuthError} `not_found`
 */
export async function exportPersonalData(ctx: Context, email: string): Promise<Record<string, unknown>> {
  const on = ctx.db.read;
  const account = await findAccountOf(on, email);
  if (!account) throw noSuchAccount();
  const { id: userId } = account;
  const addresses = { email_keys: JSON.stringify([...(await addressKeysOf(ctx, on, account))]) };
  const tables = Object.entries(store.rowsOfUser).map(
    async ([table, rows]) => [table, await rows(on, { person: userId })] as const,
  );
  return readable({
    users: [account],
    ...Object.fromEntries(await Promise.all(tables)),
    magic_links: await store.magicLinksTo(on, addresses),
    organizations: await exportMemberships(on, userId),
    outbox: await store.mailsOf(on, { user_id: userId, ...addresses }),
  });
}

/** Hashes, ids that tokens are made from, and what proves a code. They say nothing about a person. */
const omitted: Readonly<Record<string, RegExp>> = {
  sessions: /_hash$/,
  authorization_codes: /^id$|_hash$|^code_challenge$|^nonce$/,
  device_authorizations: /^id$|_hash$|^confirmation_tried$/,
  email_changes: /^id$/,
  notices: /^id$/,
  magic_links: /^id$/,
  outbox: /^id$|^reference$/,
};

/** The rows with every moment as RFC 3339 instead of milliseconds since 1970. */
const readable = (tables: Record<string, readonly object[]>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(tables).map(([table, rows]) => [
      table,
      rows.map((row) =>
        Object.fromEntries(
          Object.entries(row)
            .filter(([column]) => !omitted[table]?.test(column))
            .map(([column, value]) => [column, shownValue(column, value)]),
        ),
      ),
    ]),
  );
