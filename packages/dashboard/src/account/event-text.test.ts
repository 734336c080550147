import '#support/english-pages.ts';
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

test('every event type has its own text, even without details', () => {
  const texts = eventTypes.map((type) => eventText(event(type)));
  expect(new Set(texts).size).toBe(eventTypes.length);
  for (const text of texts) expect(text).not.toMatch(/_|undefined|\s$/);
});

test('an event type added by a newer service is shown by its escaped name', () => {
  expect(eventText(event('constructor'))).toBe('constructor');
  expect(eventText(event('moon_\u202Erises'))).toBe('moon [U+202E]rises');
});

test('a name in an event cannot close its quotes or reorder the words around it', () => {
  const name = '” was removed. \u202EOpen “evil';
  expect(eventText(event('passkey_added', { name }))).toBe(
    "Passkey “\u2068' was removed. [U+202E]Open 'evil\u2069” added",
  );
});

test('a refused job is shown with the claim that does not match', () => {
  expect(eventText(event('key_refused', { name: 'release', claim: 'ref' }))).toBe(
    'API key “\u2068release\u2069” refused a job: claim “\u2068ref\u2069” does not match',
  );
});

test('a renamed passkey is shown with its new name, and several without names', () => {
  expect(eventText(event('passkey_renamed', { passkey_id: 'pk_a', name: 'laptop' }))).toBe(
    'Passkey renamed to “\u2068laptop\u2069”',
  );
  expect(eventText(event('passkey_renamed', { passkey_ids: 'pk_a pk_b' }))).toBe('Passkeys renamed');
});

test('a change of a membership says what it means for the person', () => {
  const text = (detail: Event['detail']) =>
    eventText(event('membership_changed', { name: 'Acme', ...detail }));
  expect(text({ role: 'owner' })).toBe('Added to the organization “\u2068Acme\u2069” (Owner)');
  expect(text({ role: 'admin', former_role: 'member' })).toBe(
    'Role in the organization “\u2068Acme\u2069” changed to Admin',
  );
  expect(text({ former_role: 'admin' })).toBe('Removed from the organization “\u2068Acme\u2069”');
  expect(text({ former_role: 'owner', reason: 'organization_deleted' })).toBe(
    'Organization “\u2068Acme\u2069” deleted',
  );
  expect(text({ role: 'moon', former_role: 'owner' })).toBe('Organization role changed');
});

test('unknown details are left out of the text', () => {
  expect(eventText(event('session_revoked', { reason: 'moon' }))).toBe('Session ended');
  expect(eventText(event('login', { method: 'moon', kind: 'moon' }))).toBe('Signed in');
  expect(eventText(event('profile_changed', { fields: 'name moon time_zone' }))).toBe(
    'Profile updated: name and time zone',
  );
});

test('failed sign-ins are one line with their number', () => {
  const text = (detail: Event['detail']) => eventText(event('sign_in_failed', detail));
  expect(text({ method: 'email_code', network: '192.0.2.0/24', count: 1 })).toBe('Wrong email code entered');
  expect(text({ method: 'passkey', count: 3 })).toBe('Sign-in with a passkey refused, 3 times');
  expect(text({ method: 'moon', count: 2 })).toBe('Sign-in failed, 2 times');
});
