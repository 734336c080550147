import { expect, test } from 'bun:test';
import { type Event, eventTypes } from '@latchkey/contract/events';
import { eventText } from './event-text.ts';

const event = (type: string, detail: Event['detail'] = {}) =>
  ({
    id: 'evt_1',
    type,
    created_at: '',
    session_id: null,
    ip_address: null,
    user_agent: null,
    detail,
  }) as Event;

test('every type has a sentence of its own, also without its detail', () => {
  const sentences = eventTypes.map((type) => eventText(event(type)));
  expect(new Set(sentences).size).toBe(eventTypes.length);
  for (const sentence of sentences) expect(sentence).not.toMatch(/_|undefined|\s$/);
});

test('a type that a newer service knows is shown by its name', () => {
  expect(eventText(event('constructor'))).toBe('constructor');
  expect(eventText(event('moon_\u202Erises'))).toBe('moon [U+202E]rises');
});

test('a name in an event ends no quote and moves no word', () => {
  const name = '” was removed. \u202EOpen “evil';
  expect(eventText(event('passkey_added', { name }))).toBe(
    "The passkey “\u2068' was removed. [U+202E]Open 'evil\u2069” was added",
  );
});

test('renamed passkeys are told by the new name of one, and without names where there were several', () => {
  expect(eventText(event('passkey_renamed', { passkey_id: 'pk_a', name: 'laptop' }))).toBe(
    'A passkey was renamed to “\u2068laptop\u2069”',
  );
  expect(eventText(event('passkey_renamed', { passkey_ids: 'pk_a pk_b' }))).toBe('Passkeys were renamed');
});

test('details that nobody knows yet do no harm', () => {
  expect(eventText(event('session_revoked', { reason: 'moon' }))).toBe('A login was ended');
  expect(eventText(event('login', { method: 'moon', kind: 'moon' }))).toBe('Signed in');
  expect(eventText(event('refresh_retry_elsewhere', { changed: 'moon' }))).toBe(
    'The renewal of a login was repeated from another place',
  );
  expect(eventText(event('profile_changed', { fields: 'name moon time_zone' }))).toBe(
    'The profile was changed: name, time zone',
  );
});
