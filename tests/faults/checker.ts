// Checks a history against what Latchkey promises, whatever fails. Pure functions, one for each promise.

import {
  budgets,
  type End,
  type History,
  type Reading,
  type StartedSession,
  type Verification,
} from './history.ts';

/** How long the service may try to note that it has sent an email. */
const notingMs = 15_000;
/** How long a service that reads the feed may accept what it remembers. */
const maxMemoryMs = 2_000;

const isDone = ({ outcome }: { readonly outcome: string }): boolean => outcome === 'done';

/** How many distinct values a member has. */
const distinct = <T>(items: readonly T[], of: (item: T) => unknown): number => new Set(items.map(of)).size;

/** Nothing that works once works twice, except that a repetition with the same key gets the same result. */
const redeemedTwice = ({ redemptions }: History): string[] =>
  [...Map.groupBy(redemptions.filter(isDone), ({ credential }) => credential)].flatMap(
    ([credential, done]) => {
      const results = distinct(done, ({ result }) => result);
      const keys = distinct(done, ({ idempotencyKey }) => idempotencyKey ?? Symbol());
      if (results === 1 && keys === 1) return [];
      return [`${credential} was redeemed ${done.length} times, with ${keys} keys and ${results} results`];
    },
  );

/** What the service has handed out works, unless it or what voids it was presented before. */
function refusedWithoutReason({ redemptions }: History): string[] {
  const byGroup = Map.groupBy(redemptions, ({ group }) => group);
  return redemptions
    .filter(({ outcome, group, endedAt }) => {
      const mayBeSpent = byGroup.get(group)!.some((one) => one.outcome !== 'refused' && one.sentAt < endedAt);
      return outcome === 'refused' && group !== undefined && !mayBeSpent;
    })
    .map(({ credential, node }) => `${node} refused ${credential}, which nothing had redeemed`);
}

/** A profile never shows less than the last change whose answer came before. A change without an answer may come late. */
function lostWrites({ writes, reads }: History): string[] {
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
export function lostMails({
  promisedMails,
  deliveries,
  redemptions,
}: Pick<History, 'promisedMails' | 'deliveries' | 'redemptions'>): string[] {
  const delivered = new Set(deliveries.map(({ id }) => id));
  const byGroup = Map.groupBy(redemptions, ({ group }) => group);
  return promisedMails
    .filter(({ id, address, sentAt }) => {
      const isUseless = (byGroup.get(address) ?? []).some(
        ({ outcome, endedAt }) => outcome !== 'refused' && endedAt > sentAt,
      );
      return !delivered.has(id) && !isUseless;
    })
    .map(({ id, address }) => `the email ${id} to ${address} was promised and never sent`);
}

/** An email is sent once, except if the service could not note that it had been sent. */
const mailsSentTwice = ({ deliveries, faults }: History): string[] =>
  [...Map.groupBy(deliveries, ({ messageId }) => messageId)].flatMap(([messageId, copies]) => {
    const times = copies.map(({ at }) => Math.round(at));
    const first = Math.min(...times);
    const isExcused = faults.some(
      ({ mayRepeatMails, startedAt, endedAt }) =>
        mayRepeatMails && startedAt <= first + notingMs && endedAt >= first,
    );
    if (copies.length === 1 || isExcused) return [];
    return [`the email ${messageId} was sent at ${times.join(' and ')} ms, without a fault that excuses it`];
  });

/** A budget allows its quota in each window. A window begins with its first request, so a longer span has several. */
function exceededBudgets({ spendings }: History): string[] {
  const byKey = Map.groupBy(spendings, ({ budget, key }) => `${budget} of ${key}`);
  return [...byKey].flatMap(([name, spent]) => {
    const { quota, windowMs } = budgets[spent[0]!.budget];
    const spanMs = Math.max(...spent.map(({ endedAt }) => endedAt)) - Math.min(...spent.map((s) => s.sentAt));
    const allowed = quota * (1 + Math.floor(spanMs / windowMs));
    return spent.length > allowed ? [`${name}: ${spent.length} requests, of ${allowed} allowed`] : [];
  });
}

/** When a session ended, as far as its clients can know. */
interface Life {
  /** From the request of the first operation that may have ended it. */
  readonly mayEndFrom: number;
  /** The first answer that says that it has ended. */
  readonly endedBy: End | undefined;
}

/** The life of each session, by its id. One that was started while all sessions of its account ended may have been started after that. */
function livesOf({ sessions, ends }: History): Map<number, Life> {
  const byId = new Map(sessions.map((session) => [session.id, session]));
  const byAccount = Map.groupBy(ends, ({ account }) => account);
  const lifeOf = ({ account, path, sentAt }: StartedSession): Life => {
    const own = byAccount.get(account) ?? [];
    const possible = own.filter((end) =>
      end.session === undefined ? !isDone(end) || sentAt < end.endedAt : path.includes(end.session),
    );
    const certain = own
      .filter(isDone)
      .filter((end) =>
        end.session === undefined
          ? path.some((id) => byId.get(id)!.endedAt < end.sentAt)
          : path.includes(end.session),
      );
    return {
      mayEndFrom: Math.min(...possible.map((end) => end.sentAt)),
      endedBy: certain.toSorted((a, b) => a.endedAt - b.endedAt)[0],
    };
  };
  return new Map(sessions.map((session) => [session.id, lifeOf(session)]));
}

/** No token is accepted after the answer that ended its session, or by a service soon after that, and none is refused before. */
function wrongVerdicts(history: History): string[] {
  const lives = livesOf(history);
  const complaintAbout = ({ by, name, session, sentAt, endedAt, isAccepted }: Verification) => {
    const { mayEndFrom, endedBy } = lives.get(session)!;
    if (!isAccepted)
      return endedAt < mayEndFrom && `${by} ${name} refused session ${session}, which nothing had ended`;
    const lateMs = endedBy === undefined ? 0 : sentAt - endedBy.endedAt;
    return (
      lateMs > (by === 'node' ? 0 : maxMemoryMs) &&
      `${by} ${name} accepted session ${session} ${Math.round(lateMs)} ms after it had ended (${endedBy?.how})`
    );
  };
  return history.verifications.flatMap((verification) => complaintAbout(verification) || []);
}

/** A reader gets each event of the feed, after all that come before it. */
const lostEvents = ({ readings, feed }: History): string[] =>
  [...Map.groupBy(readings, ({ reader }) => reader)].flatMap(([reader, own]) =>
    complaintsAboutReader(reader, own, new Map(feed.map((jti, position) => [jti, position]))),
  );

function complaintsAboutReader(
  reader: string,
  readings: readonly Reading[],
  positions: ReadonlyMap<string, number>,
): string[] {
  const complaints: string[] = [];
  const seen = new Set<number>();
  let next = 0;
  for (const { events } of readings) {
    let previous = -1;
    for (const jti of events) {
      const position = positions.get(jti);
      if (position === undefined) {
        complaints.push(`reader ${reader} got the event ${jti}, which is not in the feed`);
        continue;
      }
      if (position < previous) complaints.push(`reader ${reader} got ${jti} out of order within an answer`);
      previous = position;
      if (!seen.has(position) && position !== next)
        complaints.push(`reader ${reader} got event ${position} (${jti}) where ${next} was next`);
      if (!seen.has(position)) next = position + 1;
      seen.add(position);
    }
  }
  const missing = positions.size - seen.size;
  if (missing > 0) complaints.push(`reader ${reader} never got ${missing} events`);
  return complaints;
}

const logDefects = (history: History): string[] =>
  history.logDefects.map((defect) => `the security log is not whole: ${defect}`);

/** What is found in a history that was not promised, by promise. */
export const promises = {
  redeemedTwice,
  refusedWithoutReason,
  lostWrites,
  lostMails,
  mailsSentTwice,
  exceededBudgets,
  wrongVerdicts,
  lostEvents,
  logDefects,
};

/** Everything in the history that was not promised. */
export const violationsIn = (history: History): string[] =>
  Object.values(promises).flatMap((complaintsIn) => complaintsIn(history));
