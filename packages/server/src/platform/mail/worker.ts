import type { Context } from '../context.ts';
import type { Tables } from '../database/schema.ts';
import { redact } from '../telemetry/redact.ts';
import type { Templates } from './message.ts';
import * as store from './outbox-store.ts';
import { maxConnections, type Transport } from './transport.ts';

/** How long a claimed mail is left to its worker; one that died is replaced after this. */
const leaseMs = 8_000;
const leaseRenewalMs = 2_500;
/** How many mails a worker has in hand at once, and how many of them may be mails that are not urgent. */
const slots = 8;
export const ordinarySlots = 6;

/** An attempt that takes this long is slow. */
const slowAfterMs = 3_000;
/** How many of the slots mails may have that failed slowly before, so that they never keep out the others. */
export const slowSlots = 4;
/** How many urgent mails, slow for the first time, may be in hand beyond the slots. */
const extraSlots = maxConnections - slots;

/** How often the outbox is looked at when nobody wakes the worker: another node may have died with a mail. */
const idlePollMs = 2_000;

const firstRetryMs = 5_000;
const maxRetryMs = 5 * 60_000;

/** How many times a mail server may refuse a mail for good (5xx) before that is believed. */
const maxRefusals = 3;

/** The pause after a number of failed attempts: 5 s, 10 s, 20 s and so on up to 5 minutes. */
export const retryPauseMs = (attempts: number): number =>
  Math.min(firstRetryMs * 2 ** Math.max(0, attempts - 1), maxRetryMs);

/**
 * Whether a mail server refused the mail for good. A refused login is about this service, not about the mail: it is
 * tried again, so that mails survive a wrong password.
 */
export const isPermanentRefusal = (error: unknown): boolean => {
  const { code, responseCode } = error as { code?: unknown; responseCode?: unknown };
  return typeof responseCode === 'number' && responseCode >= 500 && responseCode < 600 && code !== 'EAUTH';
};

export interface MailWorker {
  wake(): void;
  /** Finishes what is being sent. */
  stop(): Promise<void>;
}

/**
 * Sends what is in the outbox, on every node at once: a mail is claimed by a lease, tried again with growing
 * pauses as long as it is of use and the mail server does not refuse it for good, and then kept as a dead letter.
 * Each slot takes the next mail as soon as it is free, so a slow recipient delays nobody else; some slots are kept
 * for urgent mails.
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

  const noteFailure = async (mail: Tables['outbox'], error: unknown, isSlow: boolean): Promise<void> => {
    const reason = redact(error instanceof Error ? error.message : 'unknown').slice(0, 300);
    const refusals = mail.refusals + (isPermanentRefusal(error) ? 1 : 0);
    const failed = { id: mail.id, last_error: reason, refusals };
    if (refusals >= maxRefusals) {
      await store.markRefused(ctx.db.single, { ...failed, now: ctx.clock() });
      ctx.metrics.mails.inc({ outcome: 'given_up' });
      ctx.log.warn({ mail: mail.id, attempts: mail.attempts, reason }, 'mail given up');
      return;
    }
    const pause = retryPauseMs(mail.attempts);
    await store.markFailed(ctx.db.single, {
      ...failed,
      slow_attempts: mail.slow_attempts + (isSlow ? 1 : 0),
      next_attempt_at: ctx.clock() + pause,
    });
    ctx.metrics.mails.inc({ outcome: 'failed' });
    ctx.log.warn(
      { mail: mail.id, attempts: mail.attempts, retry_in_ms: pause, reason },
      'mail not delivered',
    );
  };

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
    const started = performance.now();
    try {
      await transport.deliver(mail.id, mail.recipient, message);
    } catch (error) {
      await noteFailure(mail, error, performance.now() - started >= slowAfterMs);
      return;
    } finally {
      clearInterval(renewal);
    }
    await store.markSent(ctx.db.single, { id: mail.id, now: ctx.clock() });
    ctx.metrics.mails.inc({ outcome: 'sent' });
    ctx.log.info({ mail: mail.id, attempts: mail.attempts }, 'mail sent');
  };

  const inHand = new Set<Promise<void>>();
  let ordinaryInHand = 0;
  let slowInHand = 0;
  let extraInHand = 0;

  const take = (mail: Tables['outbox']): void => {
    const isOrdinary = mail.priority !== store.urgentPriority;
    const wasSlow = mail.slow_attempts > 0;
    let isExtra = false;
    if (isOrdinary) ordinaryInHand += 1;
    if (wasSlow) slowInHand += 1;
    const freeSlot = () => {
      if (isOrdinary || wasSlow || extraInHand >= extraSlots) return;
      isExtra = true;
      extraInHand += 1;
      wake();
    };
    const timer = setTimeout(freeSlot, slowAfterMs);
    const sending = send(mail)
      .catch(() => ctx.log.warn({ mail: mail.id }, 'what became of a mail could not be stored'))
      .finally(() => {
        clearTimeout(timer);
        inHand.delete(sending);
        if (isOrdinary) ordinaryInHand -= 1;
        if (wasSlow) slowInHand -= 1;
        if (isExtra) extraInHand -= 1;
        wake();
      });
    inHand.add(sending);
  };

  /** Fills free slots with mails of one lane; milliseconds until the next of them is due. */
  const fill = async (lane: store.Lane, free: number): Promise<number> => {
    if (free <= 0) return idlePollMs;
    const now = ctx.clock();
    const mails = await store.claimMails(ctx.db.single, {
      ...lane,
      now,
      lease_until: now + leaseMs,
      limit: free,
    });
    for (const mail of mails) take(mail);
    if (mails.length > 0) return 0;
    const [next] = await store.findNextDue(ctx.db.read, lane);
    const due = next?.due === null || next?.due === undefined ? idlePollMs : Number(next.due) - ctx.clock();
    return Math.min(Math.max(due, 1), idlePollMs);
  };

  const freeSlots = () => slots - (inHand.size - extraInHand);

  /** Fills free slots with mails of one priority: those that were slow before come last. */
  const fillPriority = async (priority: number, free: () => number): Promise<number> => {
    const due = await fill({ priority, slow: 0 }, free());
    const slowDue = await fill({ priority, slow: 1 }, Math.min(free(), slowSlots - slowInHand));
    return Math.min(due, slowDue);
  };

  /** Hands what is due to the free slots; says how long to rest before looking again. */
  const round = async (): Promise<number> => {
    awake = false;
    const urgent = await fillPriority(store.urgentPriority, freeSlots);
    const ordinary = await fillPriority(store.ordinaryPriority, () =>
      Math.min(freeSlots(), ordinarySlots - ordinaryInHand),
    );
    return Math.min(urgent, ordinary);
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
      await Promise.all(inHand);
      transport.close();
    },
  };
}
