import type { Session } from '@latchkey/contract/sessions';
import type { Answer, Query } from './operations.ts';
import { allPages, pagesOf } from './pages.ts';

/** Fetches a page of the user's sessions. */
type FetchSessions = (query: Query<'listSessions'>) => Promise<Answer<'listSessions'>>;

/** A server of the release before lists all kinds, whatever it is asked for. */
const isRun = ({ kind }: Session): boolean => kind === 'run';

/** All of the user's sessions but the runs, newest first. */
export async function allLogins(fetchPage: FetchSessions): Promise<Session[]> {
  const logins: Session[] = [];
  const pages = pagesOf<'sessions', Session>((query) => fetchPage({ ...query, kind: 'login' }));
  for await (const { sessions } of pages) logins.push(...sessions.filter((session) => !isRun(session)));
  return logins;
}

/**
 * All logins of the user, then the newest runs, up to a thousand, so that no number of runs hides a login. A cursor
 * that is not null marks where the other runs begin.
 */
export async function allSessions(fetchPage: FetchSessions) {
  const [logins, runs] = await Promise.all([
    allLogins(fetchPage),
    allPages('sessions', (query) => fetchPage({ ...query, kind: 'run' })),
  ]);
  return { sessions: [...logins, ...runs.entries.filter(isRun)], next_cursor: runs.next_cursor };
}
