// Checks a history against what Latchkey promises, whatever fails. Pure functions, one for each promise.

import type {
  Delivery,
  FaultHistory,
  FaultSpan,
  PromisedMail,
  Read,
  Redemption,
  Refresh,
  Spending,
  Write,
} from './history.ts';
import { violationsIn as sessionViolationsIn } from './session-checker.ts';

/** How long the service may try to note that it has sent an email. */
const notingMs = 15_000;

const isDone = ({ outcome }: { readonly outcome: string }): boolean => outcome === 'done';

/** The distinct values of a member, in the order of their first appearance. */
const distinct = <T, K>(items: readonly T[], keyOf: (item: T) => K): K[] => [...new Set(items.map(keyOf))];

/** Nothing that works once works twice, except that a repetition with the same key gets the same result. */
function redeemedTwice(redemptions: readonly Redemption[]): string[] {
  const byCredential = Map.groupBy(redemptions.filter(isDone), ({ credential }) => credential);
  return [...byCredential].flatMap(([credential, done]) => {
    const results = distinct(done, ({ result }) => result).length;
    const isRepeated =
      done.every(({ idempotencyKey }) => idempotencyKey !== undefined) &&
      distinct(done, ({ idempotencyKey }) => idempotencyKey).length === 1;
    if (done.length === 1 || (results === 1 && isRepeated)) return [];
    return [`${credential} was redeemed ${done.length} times, distinct results: ${results}`];
  });
}

/** What the service has handed out works, unless it or what voids it was presented before. */
function refusedWithoutReason(redemptions: readonly Redemption[]): string[] {
  const byGroup = Map.groupBy(redemptions, ({ group }) => group);
  return redemptions
    .filter((redemption) => {
      const others = byGroup.get(redemption.group)!.filter((other) => other !== redemption);
      const mayBeSpent = others.some(
        ({ outcome, sentAt }) => outcome !== 'refused' && sentAt < redemption.endedAt,
      );
      return redemption.outcome === 'refused' && !mayBeSpent;
    })
    .map(({ credential, node }) => `${node} refused ${credential}, which nothing had redeemed`);
}

/** A refresh token has at most one successor, and only for one key. */
function refreshedTwice(refreshes: readonly Refresh[]): string[] {
  const byToken = Map.groupBy(refreshes.filter(isDone), ({ refreshToken }) => refreshToken);
  return [...byToken].flatMap(([token, done]) => {
    const successors = distinct(done, ({ successor }) => successor).length;
    const keys = distinct(done, ({ idempotencyKey }) => idempotencyKey).length;
    return [
      ...(successors > 1 ? [`refresh token ${token} got ${successors} successors`] : []),
      ...(keys > 1 ? [`refresh token ${token} was used with ${keys} keys`] : []),
    ];
  });
}

/** A profile never shows less than the last change whose answer came before. A change without an answer may come late. */
function lostWrites(writes: readonly Write[], reads: readonly Read[]): string[] {
  const byAccount = Map.groupBy(writes, ({ account }) => account);
  return reads.flatMap(({ account, version, node, sentAt }) => {
    const changes = byAccount.get(account) ?? [];
    const acknowledged = changes.filter((write) => isDone(write) && write.endedAt < sentAt);
    const last = Math.max(0, ...acknowledged.map((write) => write.version));
    const shown = changes.find((write) => write.version === version);
    if (version !== 0 && (shown === undefined || shown.outcome === 'refused'))
      return [`${node} showed change ${version} of account ${account}, which was never made`];
    const mayBeLate = shown?.outcome === 'unknown';
    return version >= last || mayBeLate
      ? []
      : [`${node} showed change ${version} of account ${account} after change ${last}`];
  });
}

/** A promised email arrives, unless a sign-in to its address has made it useless meanwhile. */
export function lostMails(
  promised: readonly PromisedMail[],
  deliveries: readonly Delivery[],
  redemptions: readonly Redemption[],
): string[] {
  const delivered = new Set(deliveries.map(({ id }) => id));
  const byGroup = Map.groupBy(redemptions, ({ group }) => group);
  return promised
    .filter(({ id, address, sentAt }) => {
      const isUseless = (byGroup.get(address) ?? []).some(
        ({ outcome, endedAt }) => outcome !== 'refused' && endedAt > sentAt,
      );
      return !delivered.has(id) && !isUseless;
    })
    .map(({ id, address }) => `the email ${id} to ${address} was promised and never sent`);
}

/** Emails that were sent more than once, with what had failed when the first one was sent. */
interface Repetition {
  readonly messageId: string;
  readonly count: number;
  /** From the first to the last, with what began before the last. */
  readonly spanMs: number;
  readonly before: FaultSpan | undefined;
  readonly fault: FaultSpan | undefined;
}

function repetitions(deliveries: readonly Delivery[], faults: readonly FaultSpan[]): Repetition[] {
  const byMessage = Map.groupBy(deliveries, ({ messageId }) => messageId);
  return [...byMessage]
    .filter(([, copies]) => copies.length > 1)
    .map(([messageId, copies]) => {
      const first = Math.min(...copies.map(({ at }) => at));
      const fault = faults.find(
        ({ mayRepeatMails, startedAt, endedAt }) =>
          mayRepeatMails && startedAt <= first + notingMs && endedAt >= first,
      );
      const last = Math.max(...copies.map(({ at }) => at));
      const before = faults.findLast(({ startedAt }) => startedAt <= last);
      return { messageId, count: copies.length, spanMs: Math.round(last - first), before, fault };
    });
}

/** An email is sent once, except if the service could not note that it had been sent. */
const mailsSentTwice = (deliveries: readonly Delivery[], faults: readonly FaultSpan[]): string[] =>
  repetitions(deliveries, faults)
    .filter(({ fault }) => fault === undefined)
    .map(
      ({ messageId, count, spanMs, before }) =>
        `the email ${messageId} was sent ${count} times within ${spanMs} ms, without a fault that excuses it (last: ${before?.name})`,
    );

/** How many emails were sent again because the service could not note that they had been sent. */
export const excusedMails = ({ deliveries, faults }: FaultHistory): number =>
  repetitions(deliveries, faults).filter(({ fault }) => fault !== undefined).length;

/** A budget allows its quota in each window. A window begins with its first request, so a longer span has several. */
function exceededBudgets(spendings: readonly Spending[], budgets: FaultHistory['budgets']): string[] {
  const byKey = Map.groupBy(spendings, ({ budget, key }) => `${budget} of ${key}`);
  return [...byKey].flatMap(([name, spent]) => {
    const { quota, windowMs } = budgets[spent[0]!.budget]!;
    const spanMs = Math.max(...spent.map(({ endedAt }) => endedAt)) - Math.min(...spent.map((s) => s.sentAt));
    const allowed = quota * (1 + Math.floor(spanMs / windowMs));
    return spent.length > allowed ? [`${name}: ${spent.length} requests, of ${allowed} allowed`] : [];
  });
}

/** Everything in the history that was not promised. */
export function violationsIn(history: FaultHistory): string[] {
  const { redemptions, refreshes, writes, reads, promisedMails, deliveries, faults } = history;
  return [
    ...sessionViolationsIn(history.sessions),
    ...redeemedTwice(redemptions),
    ...refusedWithoutReason(redemptions),
    ...refreshedTwice(refreshes),
    ...lostWrites(writes, reads),
    ...lostMails(promisedMails, deliveries, redemptions),
    ...mailsSentTwice(deliveries, faults),
    ...exceededBudgets(history.spendings, history.budgets),
    ...history.logDefects.map((defect) => `the security log is not whole: ${defect}`),
  ];
}
