import { expect, test } from 'bun:test';
import { allLogins, allSessions } from './session-list.ts';

const counts = { login: 1_100, run: 2_000 };

/** A service with that many logins and runs, whose cursors count what came before. */
const fetchPage: Parameters<typeof allSessions>[0] = async (query) => {
  const { kind, limit, cursor = '0' } = query as { kind: 'login' | 'run'; limit: string; cursor?: string };
  const [from, to] = [Number(cursor), Math.min(Number(cursor) + Number(limit), counts[kind])];
  const sessions = Array.from({ length: to - from }, (_, at) => ({ kind, id: `${kind} ${from + at}` }));
  return { sessions: sessions as never[], next_cursor: to < counts[kind] ? String(to) : null };
};

test('no number of runs hides a login; of the runs the newest thousand are listed; nothing is listed twice', async () => {
  const { sessions, next_cursor } = await allSessions(fetchPage);
  const ids = sessions.map(({ id }) => id);
  expect([ids.length, ids[1_099], ids[1_100], next_cursor]).toEqual([2_100, 'login 1099', 'run 0', '1000']);
  expect((await allLogins(fetchPage)).map(({ id }) => id)).toEqual(ids.slice(0, 1_100));
  // A server of the release before lists all kinds.
  const all = [{ kind: 'run' }, { kind: 'device' }] as never[];
  const old = await allSessions(async () => ({ sessions: all, next_cursor: null }));
  expect(old.sessions.map(({ kind }) => kind)).toEqual(['device', 'run']);
});
