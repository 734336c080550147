import type { Context } from '../context.ts';
import type { Tables } from '../database/schema.ts';
import { redact } from '../telemetry/redact.ts';
import { repeat } from '../timers.ts';
import type { Message, Templates } from './message.ts';
import * as store from './outbox-store.ts';
import { maxConnections, type Transport } from './transport.ts';

/** How long a worker holds a claimed mail. When it dies, another worker claims the mail after this time. */
const leaseMs = 8_000;
const leaseRenewalMs = 2_500;

/** How many connections ordinary mails may take, so that an urgent mail always finds one. */
export const ordinarySlots = 6;

/** How many connections mails that were slow before may take, so that their servers never delay the others. */
export const slowSlots = 4;

const slowAfterMs = 3_000;

/** How often an idle worker claims unasked: a pause, or the lease of another node, may be over. */
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

/** A failed authentication is no permanent refusal: the fault is the service's, so its mails are kept. */
export const isPermanentRefusal = (error: unknown): boolean => {
  const { code, responseCode } = error as { code?: unknown; responseCode?: unknown };
  return typeof responseCode === 'number' && responseCode >= 500 && responseCode < 600 && code !== 'EAUTH';
};

type OutboxMail = Tables['outbox'];

/** What log lines say about a mail. They belong to the trace of the request that queued it. */
const logFieldsOf = ({ id, trace_id, span_id }: OutboxMail) => ({
  mail: id,
  trace_id: trace_id ?? undefined,
  span_id: span_id ?? undefined,
});

/**
 * Sends the mails in the outbox; a lease ensures that one node at a time sends a mail. One that fails is
 * retried until it expires or is refused, and then stays. Urgent ones come first: others, and slow ones,
 * never take all connections.
 */
export class MailWorker {
  readonly #ctx: Context;
  readonly #templates: Templates;
  readonly #transport: Transport;
  readonly #sending = new Map<OutboxMail, Promise<void>>();
  #isAwake = false;
  #isStopping = false;
  #pausing: AbortController | undefined;
  readonly #running: Promise<void>;

  constructor(ctx: Context, templates: Templates, transport: Transport) {
    this.#ctx = ctx;
    this.#templates = templates;
    this.#transport = transport;
    this.#running = this.#run();
  }

  /** Makes the worker read the outbox now instead of at the end of its pause. */
  wake(): void {
    this.#isAwake = true;
    this.#pausing?.abort();
  }

  /** Stops claiming mails and resolves when those being sent are done. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#pausing?.abort();
    await this.#running;
    await Promise.all(this.#sending.values());
    this.#transport.close();
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      this.#isAwake = false;
      const mail = await this.#claim().catch(() => this.#ctx.log.warn('could not read the outbox'));
      if (mail) this.#start(mail);
      else await this.#pause();
    }
  }

  /** Waits for the next poll, unless or until the worker is woken or stopped. */
  async #pause(): Promise<void> {
    if (this.#isAwake || this.#isStopping) return;
    this.#pausing = new AbortController();
    await this.#ctx.timers.sleep(idlePollMs, this.#pausing.signal);
  }

  /** Claims the most urgent mail that is due and has a connection. */
  async #claim(): Promise<OutboxMail | undefined> {
    const sending = [...this.#sending.keys()];
    if (sending.length >= maxConnections) return;
    const now = this.#ctx.clock();
    const slow = sending.filter(({ slow_attempts }) => slow_attempts > 0);
    const ordinary = sending.filter(({ priority }) => priority !== store.urgentPriority);
    const max_slow_attempts = slow.length < slowSlots ? store.anySlowAttempts : 0;
    const claim = { now, lease_until: now + leaseMs, max_slow_attempts };
    const [urgent] = await store.claimMail(this.#ctx.db.single, { ...claim, priority: store.urgentPriority });
    if (urgent || ordinary.length >= ordinarySlots) return urgent;
    return (await store.claimMail(this.#ctx.db.single, { ...claim, priority: store.ordinaryPriority }))[0];
  }

  #start(mail: OutboxMail): void {
    const done = this.#send(mail)
      .catch(() => this.#ctx.log.warn(logFieldsOf(mail), 'could not store the outcome of a mail'))
      .finally(() => {
        this.#sending.delete(mail);
        this.wake();
      });
    this.#sending.set(mail, done);
  }

  async #send(mail: OutboxMail): Promise<void> {
    const ctx = this.#ctx;
    const now = ctx.clock();
    const isExpired = mail.expires_at <= now;
    const template = this.#templates[mail.template];
    // A node of a newer release queued it, and can send it.
    if (!template && !isExpired) return this.#storeFailure(mail, new Error('unknown template'), false);
    const message = isExpired ? undefined : await template?.(ctx, mail);
    if (!message) return this.#giveUp(mail, mail.last_error ?? 'no longer needed', mail.refusals);
    const startedAt = ctx.timers.monotonic();
    try {
      await this.#deliver(mail, message);
    } catch (error) {
      await this.#storeFailure(mail, error, ctx.timers.monotonic() - startedAt >= slowAfterMs);
      return;
    }
    await store.markSent(ctx.db.single, { id: mail.id, now: ctx.clock() });
    ctx.metrics.mails.inc({ outcome: 'sent' });
    ctx.log.info({ ...logFieldsOf(mail), attempts: mail.attempts }, 'mail sent');
  }

  /** Hands the mail to the transport and extends its lease until that is done. */
  async #deliver(mail: OutboxMail, message: Message): Promise<void> {
    const { clock, db, log, timers } = this.#ctx;
    const delivered = new AbortController();
    const renewing = repeat(timers, leaseRenewalMs, delivered.signal, () =>
      store
        .extendLease(db.single, { id: mail.id, lease_until: clock() + leaseMs })
        .catch(() => log.warn(logFieldsOf(mail), 'could not renew the lease of a mail')),
    );
    try {
      await this.#transport.deliver(mail.id, mail.recipient, message);
    } finally {
      delivered.abort();
      // A renewal that arrived after the outcome would put the next attempt off.
      await renewing;
    }
  }

  async #giveUp(mail: OutboxMail, reason: string, refusals: number): Promise<void> {
    const { clock, db, log, metrics } = this.#ctx;
    await store.markDead(db.single, { id: mail.id, now: clock(), last_error: reason, refusals });
    metrics.mails.inc({ outcome: 'given_up' });
    log.warn({ ...logFieldsOf(mail), attempts: mail.attempts, reason }, 'gave up on a mail');
  }

  /** Schedules the next attempt, or gives up on a mail that was refused too often. */
  async #storeFailure(mail: OutboxMail, error: unknown, isSlow: boolean): Promise<void> {
    const { clock, db, log, metrics } = this.#ctx;
    const reason = redact(error instanceof Error ? error.message : 'unknown').slice(0, maxReasonLength);
    const refusals = mail.refusals + (isPermanentRefusal(error) ? 1 : 0);
    if (refusals >= maxRefusals) return this.#giveUp(mail, reason, refusals);
    const pauseMs = retryPauseMs(mail.attempts);
    await store.markFailed(db.single, {
      id: mail.id,
      last_error: reason,
      refusals,
      slow_attempts: mail.slow_attempts + (isSlow ? 1 : 0),
      next_attempt_at: clock() + pauseMs,
    });
    metrics.mails.inc({ outcome: 'failed' });
    log.warn(
      { ...logFieldsOf(mail), attempts: mail.attempts, retry_in_ms: pauseMs, reason },
      'could not deliver a mail',
    );
  }
}
