import type { Context } from '../context.ts';
import { newId } from '../crypto/random.ts';
import type { Executor } from '../database/executor.ts';
import * as store from './outbox-store.ts';

export interface Mail {
  readonly template: string;
  readonly recipient: string;
  /** Names the row that the template is filled from. Never a secret. */
  readonly reference: string;
  /** When the mail is of no more use, in milliseconds since 1970. */
  readonly expiresAt: number;
  /** A person waits for it: it is sent before mails that are not urgent. */
  readonly isUrgent?: boolean;
  /** When it may be sent first, in milliseconds since 1970; at once if left out. */
  readonly due?: number;
  /** Its id in the outbox, if it is enqueued more than once and to be sent once; a new one otherwise. */
  readonly id?: string;
}

/** The transaction of the cause has committed by then as a rule; else the worker's next round finds the mail. */
const wakeAfterMs = 50;

/** Puts a mail into the outbox, in the transaction of its cause, and wakes the worker. */
export async function enqueueMail(ctx: Context, tx: Executor, mail: Mail): Promise<void> {
  const now = ctx.clock();
  await store.insertMail(tx, {
    id: mail.id ?? newId('mail_', ctx.random),
    template: mail.template,
    recipient: mail.recipient,
    reference: mail.reference,
    now,
    due: mail.due ?? now,
    expires_at: mail.expiresAt,
    priority: mail.isUrgent ? store.urgentPriority : store.ordinaryPriority,
  });
  setTimeout(ctx.wakeMailWorker, wakeAfterMs).unref();
}

/** Counting stops here, so that a scrape stays cheap however many mails wait. */
const maxMailsCounted = 10_000;

/** How many mails wait to be sent, at most 10,000. */
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
