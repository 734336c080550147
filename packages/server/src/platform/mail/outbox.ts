import type { UserEmail } from '@latchkey/contract/users';
import type { Context } from '../context.ts';
import { newId } from '../crypto/primitives.ts';
import type { Executor } from '../database/executor.ts';
import { type PageRequest, paginate, placeOf } from '../database/pagination.ts';
import type { Tables } from '../database/schema.ts';
import { currentTrace } from '../telemetry/log.ts';
import { shown } from '../values/shown.ts';
import * as store from './outbox-store.ts';

export interface Mail {
  readonly template: string;
  readonly recipient: string;
  /** What identifies the mailbox of the recipient. */
  readonly recipientKey: string;
  /** The account that it concerns. Left out where the address may have none. */
  readonly userId?: string;
  /** Identifies the row that the template reads. Never a secret. */
  readonly reference: string;
  /** When the mail is no longer worth sending, in milliseconds since 1970. */
  readonly expiresAt: number;
  /** Somebody is waiting for it, so it is sent before ordinary mails. */
  readonly isUrgent?: boolean;
  /** The earliest time to send it, in milliseconds since 1970. Default: now. */
  readonly due?: number;
  /** Its id in the outbox, for a mail that is enqueued repeatedly but sent once. Default: a new id. */
  readonly id?: string;
}

/** By then the transaction has usually committed. If not, the worker finds the mail when it polls next. */
const wakeAfterMs = 50;

export function mailRow(ctx: Context, mail: Mail) {
  const now = ctx.clock();
  const trace = currentTrace();
  return {
    id: mail.id ?? newId('mail_', ctx.random),
    template: mail.template,
    recipient: mail.recipient,
    recipient_key: mail.recipientKey,
    user_id: mail.userId ?? null,
    reference: mail.reference,
    created_at: now,
    next_attempt_at: mail.due ?? now,
    expires_at: mail.expiresAt,
    priority: mail.isUrgent ? store.urgentPriority : store.ordinaryPriority,
    trace_id: trace?.traceId ?? null,
    span_id: trace?.spanId ?? null,
  };
}

/** Adds a mail to the outbox in the transaction that causes it, and wakes the worker. */
export async function enqueueMail(ctx: Context, tx: Executor, mail: Mail): Promise<void> {
  await store.insertMail(tx, mailRow(ctx, mail));
  void ctx.timers.sleep(wakeAfterMs, ctx.stopping).then(ctx.wakeMailWorker);
}

/** Counting stops here, so that reading the metrics stays cheap. */
const maxMailsCounted = 10_000;

/** The number of mails waiting to be sent, at most 10,000. */
export async function countWaitingMails(ctx: Context): Promise<number> {
  const [waiting] = await store.countWaiting(ctx.db.read, { limit: maxMailsCounted });
  return Number(waiting?.count ?? 0);
}

/** One page of the mails to an address or about its account, newest first, without their content. */
export async function listMailsTo(
  ctx: Context,
  { userId, emailKey }: { readonly userId: string; readonly emailKey: string },
  page: PageRequest,
) {
  const place = placeOf(page, { time: Number.MAX_SAFE_INTEGER, id: 'mail_' });
  const rows = [
    ...(await store.listMailsToAddress(ctx.db.read, { email_key: emailKey, ...place })),
    ...(await store.listMailsAboutUser(ctx.db.read, { user_id: userId, email_key: emailKey, ...place })),
  ].toSorted((a, b) => b.created_at - a.created_at || (a.id < b.id ? 1 : -1));
  const { entries, next_cursor } = paginate(rows, page.limit, ({ created_at: time, id }) => ({ time, id }));
  const now = ctx.clock();
  const emails = entries.map((row) => ({
    id: row.id,
    kind: row.template,
    to: row.recipient,
    ...shown(row, ['created_at', 'sent_at']),
    outcome: outcomeOf(row, now),
  }));
  return { emails, next_cursor };
}

type Outcome = Pick<Tables['outbox'], 'sent_at' | 'dead_at' | 'expires_at'>;

function outcomeOf(row: Outcome, now: number): UserEmail['outcome'] {
  if (row.sent_at !== null) return 'sent';
  return row.dead_at !== null || row.expires_at <= now ? 'failed' : 'waiting';
}

/** Deletes every mail about an account or to one of its addresses: waiting, sent or given up. */
export const deleteMailsOf = (tx: Executor, userId: string, emailKeys: Iterable<string>) =>
  store.deleteMailsOf(tx, { user_id: userId, email_keys: JSON.stringify([...emailKeys]) });
