// Checks a history against what is promised about the ends of sessions and about the feed. Pure functions.

import type { End, FeedRow, History, Reading, StartedSession, Verification } from './history.ts';

/** How long a service that reads the feed may accept what it remembers. */
const maxMemoryMs = 2_000;

/** When a token ended, as far as its clients can know. */
interface Life {
  /** From the request of the first operation that may have ended it. */
  readonly mayEndFrom: number;
  /** The first answer that says that it has ended. */
  readonly endedBy: (End & { readonly answeredAt: number }) | undefined;
}

type Sessions = ReadonlyMap<number, StartedSession>;

/** A session that was started while all sessions of its account ended may have been started after that. */
const hasEnded = (sessions: Sessions, { path }: StartedSession, end: End): boolean =>
  end.session === undefined
    ? path.some((id) => {
        const session = sessions.get(id);
        return session?.account === end.account && session.answeredAt < end.sentAt;
      })
    : path.includes(end.session);

/** Whether the operation may have ended a session. Disowning a session also ends what began since. */
const mayEnd = ({ path, account, sentAt }: StartedSession, end: End): boolean =>
  end.session === undefined || end.how === 'disowned'
    ? end.account === account && sentAt < (end.answeredAt ?? Number.POSITIVE_INFINITY)
    : path.includes(end.session);

function lifeOf(sessions: Sessions, session: StartedSession, ends: readonly End[]): Life {
  let mayEndFrom = Number.POSITIVE_INFINITY;
  let endedBy: Life['endedBy'];
  for (const end of ends) {
    if (mayEnd(session, end)) mayEndFrom = Math.min(mayEndFrom, end.sentAt);
    const { answeredAt } = end;
    if (answeredAt === undefined || !hasEnded(sessions, session, end)) continue;
    if (endedBy === undefined || answeredAt < endedBy.answeredAt) endedBy = { ...end, answeredAt };
  }
  return { mayEndFrom, endedBy };
}

/** The life of each token, by its id. */
function livesOf({ sessions: started, tokens, ends }: History): Map<number, Life> {
  const sessions: Sessions = new Map(started.map((session) => [session.id, session]));
  const endsOf = Map.groupBy(ends, ({ account }) => account);
  const lives = new Map<number, Life>();
  for (const session of started)
    lives.set(session.id, lifeOf(sessions, session, endsOf.get(session.account) ?? []));
  return new Map(tokens.map(({ id, session }) => [id, lives.get(session)!]));
}

function complaintAbout(verification: Verification, { mayEndFrom, endedBy }: Life): string | undefined {
  const { by, name, token, sentAt, answeredAt, isAccepted } = verification;
  if (!isAccepted)
    return answeredAt < mayEndFrom
      ? `${by} ${name} refused token ${token}, which nothing had ended`
      : undefined;
  if (endedBy === undefined) return undefined;
  const lateMs = sentAt - endedBy.answeredAt;
  const allowedMs = by === 'node' ? 0 : maxMemoryMs;
  return lateMs > allowedMs
    ? `${by} ${name} accepted token ${token} ${Math.round(lateMs)} ms after it had ended (${endedBy.how})`
    : undefined;
}

/** What a reader got, answer by answer, against the feed. */
function complaintsAboutReader(reader: string, readings: readonly Reading[], known: KnownFeed): string[] {
  const complaints: string[] = [];
  const seen = new Set<number>();
  let next = 0;
  for (const { sentAt, after, events } of readings) {
    let previous = -1;
    for (const jti of events) {
      const position = known.positions.get(jti);
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
    for (const { position, answeredAt } of known.ends) {
      // `after` counts from the arrival of the request, which is not before it was sent.
      if (answeredAt < sentAt + after && !seen.has(position))
        complaints.push(`reader ${reader} was told that it has everything, but not event ${position}`);
    }
  }
  const missing = known.positions.size - seen.size;
  if (missing > 0) complaints.push(`reader ${reader} never got ${missing} events`);
  return complaints;
}

interface KnownFeed {
  readonly positions: ReadonlyMap<string, number>;
  /** The events of operations whose answer is known. */
  readonly ends: readonly { readonly position: number; readonly answeredAt: number }[];
}

function knownFeed({ feed, ends }: History): KnownFeed {
  const positions = new Map(feed.map(({ jti }, position) => [jti, position]));
  const keyOf = ({ account, session }: Pick<FeedRow, 'account' | 'session'>) => `${account} ${session}`;
  const bySubject = Map.groupBy(feed, keyOf);
  const known = ends.flatMap((end) => {
    const rows = bySubject.get(keyOf(end)) ?? [];
    // Of several events about one account it is unknown which one belongs to the operation.
    const [row] = rows;
    return end.answeredAt === undefined || row === undefined || rows.length > 1
      ? []
      : [{ position: positions.get(row.jti)!, answeredAt: end.answeredAt }];
  });
  return { positions, ends: known };
}

/** Everything in the history that was not promised. */
export function violationsIn(history: History): string[] {
  const lives = livesOf(history);
  const known = knownFeed(history);
  return [
    ...history.verifications.flatMap(
      (verification) => complaintAbout(verification, lives.get(verification.token)!) ?? [],
    ),
    ...[...Map.groupBy(history.readings, ({ reader }) => reader)].flatMap(([reader, readings]) =>
      complaintsAboutReader(reader, readings, known),
    ),
  ];
}

export interface Period {
  readonly from: number;
  readonly until: number;
}

export interface Delays {
  /** How many ends there were of which a token had been accepted before. */
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/**
 * The milliseconds from the answer of each end to the last acceptance of one of its tokens anywhere, 0 if all were before it.
 * Of the ends whose answer came after `from` and before `until`.
 */
export function delaysIn(history: History, { from, until }: Period): Delays {
  const lives = livesOf(history);
  const last = new Map<string, number>();
  for (const { token, isAccepted, answeredAt } of history.verifications) {
    const { endedBy } = lives.get(token)!;
    if (!isAccepted || !endedBy || endedBy.answeredAt < from || endedBy.answeredAt >= until) continue;
    const end = `${endedBy.account} ${endedBy.session} ${endedBy.answeredAt}`;
    last.set(end, Math.max(last.get(end) ?? 0, answeredAt - endedBy.answeredAt));
  }
  const sorted = [...last.values()].toSorted((one, other) => one - other);
  const at = (share: number) =>
    Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1) };
}
