import type { Context } from '../context.ts';
import { newId } from '../crypto/random.ts';
import type { Executor } from '../database/executor.ts';
import { currentTrace } from '../telemetry/trace.ts';
import { emailKeyOf } from '../values/email-key.ts';
import * as store from './outbox-store.ts';

export interface Mail {
  readonly template: string;
  readonly recipient: string;
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

/** Adds a mail to the outbox in the transaction that causes it, and wakes the worker. */
export async function enqueueMail(ctx: Context, tx: Executor, mail: Mail): Promise<void> {
  const now = ctx.clock();
  const trace = currentTrace();
  await store.insertMail(tx, {
    id: mail.id ?? newId('mail_', ctx.random),
    template: mail.template,
    recipient: mail.recipient,
    recipient_key: emailKeyOf(mail.recipient),
    reference: mail.reference,
    now,
    due: mail.due ?? now,
    expires_at: mail.expiresAt,
    priority: mail.isUrgent ? store.urgentPriority : store.ordinaryPriority,
    trace_id: trace?.traceId ?? null,
    span_id: trace?.spanId ?? null,
  });
  setTimeout(ctx.wakeMailWorker, wakeAfterMs).unref();
}

/** Counting stops here, so that reading the metrics stays cheap. */
const maxMailsCounted = 10_000;

/** The number of mails waiting to be sent, at most 10,000. */
export async function countWaitingMails(ctx: Context): Promise<number> {
  const [waiting] = await store.countWaiting(ctx.db.read, { limit: maxMailsCounted });
  return Number(waiting?.count ?? 0);
}

/** What identifies mails in the outbox. */
export interface MailKeys {
  readonly ids: readonly string[];
  readonly references: readonly string[];
}

/** Deletes mails, whether they wait, were sent or were given up. */
export async function deleteMails(tx: Executor, { ids, references }: MailKeys): Promise<void> {
  await store.deleteMails(tx, { ids: JSON.stringify(ids), references: JSON.stringify(references) });
}

/** Deletes every mail to an address, whether it waits, was sent or was given up. */
export async function deleteMailsTo(tx: Executor, emailKey: string): Promise<void> {
  await store.deleteMailsTo(tx, { email_key: emailKey });
}

/** The mails to an address and those with the given keys, for the export of personal data. */
export const exportMails = (on: Executor, emailKey: string, { ids, references }: MailKeys) =>
  store.exportMails(on, {
    email_key: emailKey,
    ids: JSON.stringify(ids),
    references: JSON.stringify(references),
  });
