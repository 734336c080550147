import type { Context } from '../context.ts';
import { newId } from '../crypto/random.ts';
import type { Executor } from '../database/executor.ts';
import { insertMail } from './outbox-store.ts';

export interface Mail {
  readonly template: string;
  readonly recipient: string;
  /** Names the row that the template is filled from. Never a secret. */
  readonly reference: string;
  /** When the mail is of no more use, in milliseconds since 1970. */
  readonly expiresAt: number;
}

/** The transaction of the cause has committed by then as a rule; else the worker's next round finds the mail. */
const wakeAfterMs = 50;

/** Puts a mail into the outbox, in the transaction of its cause, and wakes the worker. */
export async function enqueueMail(ctx: Context, tx: Executor, mail: Mail): Promise<void> {
  await insertMail(tx, {
    id: newId('mail_', ctx.random),
    template: mail.template,
    recipient: mail.recipient,
    reference: mail.reference,
    now: ctx.clock(),
    expires_at: mail.expiresAt,
  });
  setTimeout(ctx.wakeMailWorker, wakeAfterMs).unref();
}
