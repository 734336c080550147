import type { Context } from '../context.ts';
import type { Tables } from '../database/schema.ts';
import { redact } from '../telemetry/redact.ts';
import type { Message, Templates } from './message.ts';
import * as store from './outbox-store.ts';
import { maxConnections, type Transport } from './transport.ts';

/** How long a worker holds a claimed mail. When it dies, another worker claims the mail after this time. */
const leaseMs = 8_000;
const leaseRenewalMs = 2_500;

/** How many mails one worker sends at the same time, and how many of them may be ordinary mails. */
const slots = maxConnections;
export const ordinarySlots = 6;

/** How often an idle worker reads the outbox without being woken: a mail's lease may have expired on another node. */
const idlePollMs = 2_000;

const firstRetryMs = 5_000;
const maxRetryMs = 5 * 60_000;

/** After this many permanent refusals (5xx) a mail becomes a dead letter. */
const maxRefusals = 3;

/** The error text is shown to operators and stored with the mail. */
const maxReasonLength = 300;

/** The pause after a number of failed attempts: 5 s, 10 s, 20 s and so on up to 5 minutes. */
export const retryPauseMs = (attempts: number): number =>
  Math.min(firstRetryMs * 2 ** Math.max(0, attempts - 1), maxRetryMs);

/**
 * Whether the mail server refused the mail permanently. Failed SMTP authentication does not count: it is a problem of
 * this service and not of the mail, so mails survive a wrong password.
 */
export const isPermanentRefusal = (error: unknown): boolean => {
  const { code, responseCode } = error as { code?: unknown; responseCode?: unknown };
  return typeof responseCode === 'number' && responseCode >= 500 && responseCode < 600 && code !== 'EAUTH';
};

export interface MailWorker {
  /** Makes the worker read the outbox now instead of at the end of its pause. */
  wake(): void;
  /** Stops claiming mails and resolves when those being sent are done. */
  stop(): Promise<void>;
}

type OutboxMail = Tables['outbox'];

/**
 * Starts sending the mails in the outbox. Every node runs a worker; a lease makes sure that only one of them sends a
 * mail at a time. A mail that fails is tried again with growing pauses until it expires or the mail server keeps
 * refusing it; then it stays in the outbox as a dead letter.
 */
export const startMailWorker = (ctx: Context, templates: Templates, transport: Transport): MailWorker =>
  new OutboxWorker(ctx, templates, transport);

/**
 * A slot takes the next mail as soon as it is free, so a slow mail server of one recipient does not delay the others.
 * Ordinary mails never take all slots, so urgent ones always find one.
 */
class OutboxWorker implements MailWorker {
  readonly #ctx: Context;
  readonly #templates: Templates;
  readonly #transport: Transport;
  readonly #sending = new Set<Promise<void>>();
  #ordinarySending = 0;
  #isAwake = false;
  #isStopping = false;
  #endPause: () => void = () => undefined;
  readonly #running: Promise<void>;

  constructor(ctx: Context, templates: Templates, transport: Transport) {
    this.#ctx = ctx;
    this.#templates = templates;
    this.#transport = transport;
    this.#running = this.#run();
  }

  wake(): void {
    this.#isAwake = true;
    this.#endPause();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#endPause();
    await this.#running;
    await Promise.all(this.#sending);
    this.#transport.close();
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      const pauseMs = await this.#fillSlots().catch(() => {
        this.#ctx.log.warn('could not read the outbox');
        return idlePollMs;
      });
      await this.#pause(pauseMs);
    }
  }

  /** Waits, unless or until the worker is woken or stopped. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isAwake || this.#isStopping) return resolve();
      const timer = setTimeout(resolve, ms);
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Starts sending due mails in the free slots, urgent ones first. Returns how long to wait before the next look. */
  async #fillSlots(): Promise<number> {
    this.#isAwake = false;
    const urgentPauseMs = await this.#claim(store.urgentPriority, slots - this.#sending.size);
    const free = Math.min(slots - this.#sending.size, ordinarySlots - this.#ordinarySending);
    return Math.min(urgentPauseMs, await this.#claim(store.ordinaryPriority, free));
  }

  /** Claims mails of one priority and starts sending them. Returns the milliseconds until the next one is due. */
  async #claim(priority: number, free: number): Promise<number> {
    if (free <= 0) return idlePollMs;
    const { clock, db } = this.#ctx;
    const now = clock();
    const mails = await store.claimMails(db.single, {
      now,
      lease_until: now + leaseMs,
      limit: free,
      priority,
    });
    for (const mail of mails) this.#start(mail);
    if (mails.length > 0) return 0;
    const [next] = await store.findNextDue(db.read, { priority });
    const dueMs = next?.due === null || next?.due === undefined ? idlePollMs : Number(next.due) - clock();
    return Math.min(Math.max(dueMs, 1), idlePollMs);
  }

  #start(mail: OutboxMail): void {
    const isOrdinary = mail.priority !== store.urgentPriority;
    if (isOrdinary) this.#ordinarySending += 1;
    const sending = this.#send(mail)
      .catch(() => this.#ctx.log.warn({ mail: mail.id }, 'could not store the outcome of a mail'))
      .finally(() => {
        this.#sending.delete(sending);
        if (isOrdinary) this.#ordinarySending -= 1;
        this.wake();
      });
    this.#sending.add(sending);
  }

  async #send(mail: OutboxMail): Promise<void> {
    const ctx = this.#ctx;
    const now = ctx.clock();
    const message = mail.expires_at > now ? await this.#templates[mail.template]?.(ctx, mail) : undefined;
    if (!message) {
      await store.markDead(ctx.db.single, { id: mail.id, now, last_error: 'no longer needed' });
      ctx.metrics.mails.inc({ outcome: 'given_up' });
      ctx.log.warn({ mail: mail.id, attempts: mail.attempts }, 'gave up on a mail');
      return;
    }
    try {
      await this.#deliver(mail, message);
    } catch (error) {
      await this.#storeFailure(mail, error);
      return;
    }
    await store.markSent(ctx.db.single, { id: mail.id, now: ctx.clock() });
    ctx.metrics.mails.inc({ outcome: 'sent' });
    ctx.log.info({ mail: mail.id, attempts: mail.attempts }, 'mail sent');
  }

  /** Hands the mail to the transport and extends its lease until that is done. */
  async #deliver(mail: OutboxMail, message: Message): Promise<void> {
    const { clock, db, log } = this.#ctx;
    const renewal = setInterval(() => {
      store
        .extendLease(db.single, { id: mail.id, lease_until: clock() + leaseMs })
        .catch(() => log.warn({ mail: mail.id }, 'could not renew the lease of a mail'));
    }, leaseRenewalMs);
    try {
      await this.#transport.deliver(mail.id, mail.recipient, message);
    } finally {
      clearInterval(renewal);
    }
  }

  /** Schedules the next attempt, or gives up on a mail that was refused too often. */
  async #storeFailure(mail: OutboxMail, error: unknown): Promise<void> {
    const { clock, db, log, metrics } = this.#ctx;
    const reason = redact(error instanceof Error ? error.message : 'unknown').slice(0, maxReasonLength);
    const refusals = mail.refusals + (isPermanentRefusal(error) ? 1 : 0);
    const failure = { id: mail.id, last_error: reason, refusals };
    if (refusals >= maxRefusals) {
      await store.markRefused(db.single, { ...failure, now: clock() });
      metrics.mails.inc({ outcome: 'given_up' });
      log.warn({ mail: mail.id, attempts: mail.attempts, reason }, 'gave up on a mail');
      return;
    }
    const pauseMs = retryPauseMs(mail.attempts);
    await store.markFailed(db.single, { ...failure, next_attempt_at: clock() + pauseMs });
    metrics.mails.inc({ outcome: 'failed' });
    log.warn(
      { mail: mail.id, attempts: mail.attempts, retry_in_ms: pauseMs, reason },
      'could not deliver a mail',
    );
  }
}
