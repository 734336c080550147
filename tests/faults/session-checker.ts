// Checks a history against what is promised about the ends of sessions and about the feed. Pure functions.

import type { End, Reading, SessionHistory, StartedSession, Verification } from './history.ts';

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

/** Whether the operation may have ended a session. */
const mayEnd = ({ path, account, sentAt }: StartedSession, end: End): boolean =>
  end.session === undefined
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
function livesOf({ sessions: started, tokens, ends }: SessionHistory): Map<number, Life> {
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

/** Everything in the history that was not promised. */
export function violationsIn(history: SessionHistory): string[] {
  const lives = livesOf(history);
  const positions = new Map(history.feed.map((jti, position) => [jti, position]));
  return [
    ...history.verifications.flatMap(
      (verification) => complaintAbout(verification, lives.get(verification.token)!) ?? [],
    ),
    ...[...Map.groupBy(history.readings, ({ reader }) => reader)].flatMap(([reader, readings]) =>
      complaintsAboutReader(reader, readings, positions),
    ),
  ];
}
