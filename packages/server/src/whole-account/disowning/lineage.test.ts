import { expect, test } from 'bun:test';
import { descentOf, type SessionOrigin, type UndoableChange } from './lineage.ts';

const session = (id: string, origin: Partial<SessionOrigin> = {}): SessionOrigin => ({
  id,
  parent_session_id: null,
  passkey_added_by: null,
  email_change_id: null,
  ...origin,
});

const change = (id: string, by: string, from: string, to: string): UndoableChange => ({
  id,
  session_id: by,
  new_email_key: to,
  restores: { key: from },
});

const descended = (root: string, logins: SessionOrigin[], changes: UndoableChange[]) =>
  [...descentOf([root], logins, changes).sessionIds].sort();

test('every kind of descent from a session is followed, in whatever order sessions are listed', () => {
  const sessions = [
    session('by-mail', { email_change_id: 'c1' }),
    session('device', { parent_session_id: 'successor' }),
    session('successor', { parent_session_id: 'by-passkey' }),
    session('by-passkey', { passkey_added_by: 'root' }),
    session('root', { parent_session_id: 'before' }),
    session('before'),
    session('own', { passkey_added_by: 'before' }),
  ];
  const changes = [change('c1', 'by-passkey', 'a', 'b')];
  expect(descended('root', sessions, changes)).toEqual([
    'by-mail',
    'by-passkey',
    'device',
    'root',
    'successor',
  ]);
  expect(descended('device', sessions, changes)).toEqual(['device']);
});

test('a session that is no longer stored still leads to what came from it', () => {
  expect(descended('gone', [session('child', { parent_session_id: 'gone' })], [])).toEqual(['child', 'gone']);
});

test('a session at the restored address is kept, even if the thief set that address again', () => {
  const changes = [change('c1', 'thief', 'a', 'b'), change('c2', 'at-b', 'b', 'a')];
  const sessions = [
    session('owner', { email_change_id: 'c2' }),
    session('at-b', { email_change_id: 'c1' }),
    session('thief'),
  ];
  expect(descended('thief', sessions, changes)).toEqual(['at-b', 'thief']);
  expect(descentOf(['thief'], sessions, changes).firstChange?.id).toBe('c1');
});

test('a session at a former address of the owner is undone if the thief set that address again', () => {
  const changes = [change('c1', 'owner', 'old', 'new'), change('c2', 'thief', 'new', 'old')];
  const sessions = [session('owner'), session('thief'), session('at-old', { email_change_id: 'c2' })];
  expect(descended('thief', sessions, changes)).toEqual(['at-old', 'thief']);
});

test('a session at an address that another session set is kept, even if that address is undone', () => {
  const changes = [change('c1', 'thief', 'a', 'b'), change('c2', 'owner', 'b', 'c')];
  const sessions = [session('thief'), session('owner'), session('at-c', { email_change_id: 'c2' })];
  expect(descended('thief', sessions, changes)).toEqual(['thief']);
});

test('a chain of 100,000 sessions is followed', () => {
  const sessions = Array.from({ length: 100_000 }, (_, n) =>
    session(`${n + 1}`, { parent_session_id: `${n}` }),
  );
  expect(descentOf(['0'], sessions, []).sessionIds.size).toBe(100_001);
});
