import { expect, test } from 'bun:test';
import { descentOf, type LoginOrigin, type UndoableChange } from './lineage.ts';

const login = (id: string, origin: Partial<LoginOrigin> = {}): LoginOrigin => ({
  id,
  parent_session_id: null,
  passkey_added_by: null,
  email_change_id: null,
  ...origin,
});

const change = (id: string, by: string, from: string, to: string): UndoableChange => ({
  id,
  session_id: by,
  old_email_key: from,
  new_email_key: to,
});

const descended = (root: string, logins: LoginOrigin[], changes: UndoableChange[]) =>
  [...descentOf([root], logins, changes).sessionIds].sort();

test('what came of a login is followed by each way in, in whatever order the logins are listed', () => {
  const logins = [
    login('by-mail', { email_change_id: 'c1' }),
    login('device', { parent_session_id: 'successor' }),
    login('successor', { parent_session_id: 'by-passkey' }),
    login('by-passkey', { passkey_added_by: 'root' }),
    login('root', { parent_session_id: 'before' }),
    login('before'),
    login('own', { passkey_added_by: 'before' }),
  ];
  const changes = [change('c1', 'by-passkey', 'a', 'b')];
  expect(descended('root', logins, changes)).toEqual([
    'by-mail',
    'by-passkey',
    'device',
    'root',
    'successor',
  ]);
  expect(descended('device', logins, changes)).toEqual(['device']);
});

test('a login whose own row is gone still leads on to what came of it', () => {
  expect(descended('gone', [login('child', { parent_session_id: 'gone' })], [])).toEqual(['child', 'gone']);
});

test('a login at the address that is put back is not undone, though the thief set it again', () => {
  const changes = [change('c1', 'thief', 'a', 'b'), change('c2', 'at-b', 'b', 'a')];
  const logins = [
    login('owner', { email_change_id: 'c2' }),
    login('at-b', { email_change_id: 'c1' }),
    login('thief'),
  ];
  expect(descended('thief', logins, changes)).toEqual(['at-b', 'thief']);
  expect(descentOf(['thief'], logins, changes).firstChange?.id).toBe('c1');
});

test('a login at a former address of the owner is undone where the thief set that address again', () => {
  const changes = [change('c1', 'owner', 'old', 'new'), change('c2', 'thief', 'new', 'old')];
  const logins = [login('owner'), login('thief'), login('at-old', { email_change_id: 'c2' })];
  expect(descended('thief', logins, changes)).toEqual(['at-old', 'thief']);
});

test('a login at an address that another login set is not undone, though that address goes', () => {
  const changes = [change('c1', 'thief', 'a', 'b'), change('c2', 'owner', 'b', 'c')];
  const logins = [login('thief'), login('owner'), login('at-c', { email_change_id: 'c2' })];
  expect(descended('thief', logins, changes)).toEqual(['thief']);
});

test('100,000 logins in one chain are followed', () => {
  const logins = Array.from({ length: 100_000 }, (_, n) => login(`${n + 1}`, { parent_session_id: `${n}` }));
  expect(descentOf(['0'], logins, []).sessionIds.size).toBe(100_001);
});
