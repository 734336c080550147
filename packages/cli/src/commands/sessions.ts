import { allLogins, allSessions } from '@latchkey/client/internal/session-list';
import type { Query } from '@latchkey/client/operations';
import type { Session } from '@latchkey/client/session';
import { sessionMethod, sessionName } from '@latchkey/contract/session-words';
import type { Session as ListedSession } from '@latchkey/contract/sessions';
import { type Connection, connect } from '../connection.ts';
import type { Context } from '../context.ts';
import { cancellable, orNotFound, UsageError } from '../exit.ts';
import { nextLogin, nextLoginLines } from '../new-login.ts';
import { printList } from '../pages.ts';
import { localTime } from '../text.ts';

/** `latchkey sessions`: the user's sessions, newest first, each with its runs below it, and those of keys at the end. */
export async function listSessions(ctx: Context): Promise<void> {
  const { session } = await connect(ctx);
  const { sessions, next_cursor } = await allSessions(pageOf(session, ctx.signal));
  printList(ctx, {
    json: { sessions: sessions.toSorted(byStart), next_cursor },
    above: runsLines(sessions, next_cursor !== null),
    heading: ['ID', 'NAME', 'SIGNED IN WITH', 'IP ADDRESS', 'STARTED', 'LAST USED'],
    rows: nested(sessions).map(({ depth, listed }) => [
      listed.id,
      depth === 0 ? sessionName(listed) : `${'  '.repeat(depth - 1)}└ ${sessionName(listed)}`,
      sessionMethod(listed.method),
      listed.ip_address ?? '-',
      localTime(listed.created_at),
      `${localTime(listed.last_used_at)}${listed.current ? ' (this one)' : ''}`,
    ]),
  });
}

/** `latchkey sessions revoke ID`: ends one session, and removes the credentials if it is the one in use here. */
export async function revokeSession(ctx: Context, id: string): Promise<void> {
  if (id === '') throw new UsageError('A session ID cannot be empty.');
  const connection = await connect(ctx);
  const { session } = connection;
  const logins = await allLogins(pageOf(session, ctx.signal));
  const current = logins.find((listed) => listed.current)?.id === id;
  await cancellable('Cancelled, but the server may already have ended that session.', () =>
    current
      ? session.logout({ signal: ctx.signal })
      : orNotFound(`You have no session ${id}.`, () =>
          session.call('revokeSession', { params: { id }, signal: ctx.signal }),
        ),
  );
  const lines = current ? await leaveCurrent(connection) : [`Session ${id} has been ended.`];
  ctx.output.result({ id, current }, () => lines);
}

async function leaveCurrent({ server, stored, ...connection }: Connection): Promise<string[]> {
  if (!stored) return ['This was the session of LATCHKEY_TOKEN, which no longer works.'];
  const left = { ...connection, server, stored };
  return [
    `This was your session here: you are now signed out of ${server}.`,
    ...nextLoginLines(left, await nextLogin(left)),
  ];
}

const pageOf = (session: Session, signal: AbortSignal) => (query: Query<'listSessions'>) =>
  session.call('listSessions', { query, signal });

/** Newest first, as the service lists them. */
const byStart = (one: ListedSession, other: ListedSession): number =>
  other.created_at.localeCompare(one.created_at);

/** How many programs have a token of their own that acts for the user. */
function runsLines(entries: readonly ListedSession[], hasMore: boolean): string[] {
  const runs = entries.filter(({ kind }) => kind === 'run').length;
  if (runs === 0) return [];
  const count = hasMore ? `More than ${runs}` : String(runs);
  return [runs === 1 ? '1 run acts as you.' : `${count} runs act as you.`, ''];
}

/** Each run below its parent. A run within a key, which is not a session, keeps its place. */
function nested(entries: readonly ListedSession[]) {
  const ids = new Set(entries.map(({ id }) => id));
  const parentOf = ({ within: [parent = ''] = [] }: ListedSession) => (ids.has(parent) ? parent : undefined);
  const below = (parent: string | undefined, depth: number): { depth: number; listed: ListedSession }[] =>
    entries
      .filter((listed) => parentOf(listed) === parent)
      .flatMap((listed) => [{ depth, listed }, ...below(listed.id, depth + 1)]);
  return below(undefined, 0);
}
