import type { Context } from '../context.ts';
import type { Tables } from '../database/schema.ts';
import { redact } from '../http/log.ts';
import type { Templates } from './message.ts';
import * as store from './outbox-store.ts';
import type { Transport } from './transport.ts';

/** How long a claimed mail is left to its worker; one that died is replaced after this. */
const leaseMs = 8_000;
const leaseRenewalMs = 2_500;
const claimedAtOnce = 8;

/** How often the outbox is looked at when nobody wakes the worker: another node may have died with a mail. */
const idlePollMs = 2_000;

const firstRetryMs = 5_000;
const greatestRetryMs = 5 * 60_000;

/** The pause after a number of failed attempts: 5 s, 10 s, 20 s and so on up to 5 minutes. */
export const retryPauseMs = (attempts: number): number =>
  Math.min(firstRetryMs * 2 ** Math.max(0, attempts - 1), greatestRetryMs);

export interface MailWorker {
  wake(): void;
  /** Finishes what is being sent. */
  stop(): Promise<void>;
}

/**
 * Sends what is in the outbox, on every node at once: a mail is claimed by a lease, tried again with growing
 * pauses as long as it is of use, and then kept as a dead letter.
 */
export function startMailWorker(ctx: Context, templates: Templates, transport: Transport): MailWorker {
  let stopping = false;
  let wakeUp: () => void = () => undefined;
  let awake = false;

  const wake = () => {
    awake = true;
    wakeUp();
  };

  const rest = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      if (awake || stopping) return resolve();
      const timer = setTimeout(resolve, ms);
      wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
    });

  const send = async (mail: Tables['outbox']): Promise<void> => {
    const now = ctx.clock();
    const message = mail.expires_at > now ? await templates[mail.template]?.(ctx, mail) : undefined;
    if (!message) {
      await store.markDead(ctx.db.single, { id: mail.id, now, last_error: 'no longer of use' });
      ctx.metrics.mails.inc({ outcome: 'given_up' });
      ctx.log.warn({ mail: mail.id, attempts: mail.attempts }, 'mail given up');
      return;
    }
    const renewal = setInterval(() => {
      store
        .extendLease(ctx.db.single, { id: mail.id, lease_until: ctx.clock() + leaseMs })
        .catch(() => ctx.log.warn({ mail: mail.id }, 'the lease of a mail could not be renewed'));
    }, leaseRenewalMs);
    try {
      await transport.deliver(mail.id, mail.recipient, message);
    } catch (error) {
      const reason = redact(error instanceof Error ? error.message : 'unknown').slice(0, 300);
      ctx.metrics.mails.inc({ outcome: 'failed' });
      const pause = retryPauseMs(mail.attempts);
      ctx.log.warn(
        { mail: mail.id, attempts: mail.attempts, retry_in_ms: pause, reason },
        'mail not delivered',
      );
      await store.markFailed(ctx.db.single, {
        id: mail.id,
        next_attempt_at: ctx.clock() + pause,
        last_error: reason,
      });
      return;
    } finally {
      clearInterval(renewal);
    }
    await store.markSent(ctx.db.single, { id: mail.id, now: ctx.clock() });
    ctx.metrics.mails.inc({ outcome: 'sent' });
    ctx.log.info({ mail: mail.id, attempts: mail.attempts }, 'mail sent');
  };

  /** Sends what is due; says how long to rest before looking again. */
  const round = async (): Promise<number> => {
    awake = false;
    const now = ctx.clock();
    const mails = await store.claimMails(ctx.db.single, {
      now,
      lease_until: now + leaseMs,
      limit: claimedAtOnce,
    });
    if (mails.length > 0) {
      await Promise.all(mails.map(send));
      return 0;
    }
    const [next] = await store.nextDue(ctx.db.read, {});
    const due = next?.due === null || next?.due === undefined ? idlePollMs : Number(next.due) - ctx.clock();
    return Math.min(Math.max(due, 1), idlePollMs);
  };

  const run = async (): Promise<void> => {
    while (!stopping) {
      const pause = await round().catch(() => {
        ctx.log.warn('the outbox could not be read');
        return idlePollMs;
      });
      await rest(pause);
    }
  };

  const running = run();
  return {
    wake,
    stop: async () => {
      stopping = true;
      wakeUp();
      await running;
      transport.close();
    },
  };
}
