import '#support/english-pages.ts';
import { expect, test } from 'bun:test';
import { type Event, eventTypes } from '@latchkey/contract/events';
import { eventText } from './event-text.ts';

const textOf = (type: string, detail: Event['detail'] = {}) => eventText({ type, detail } as Event);

test('every event type has its own text, even without details', () => {
  const texts = eventTypes.map((type) => textOf(type));
  expect(new Set(texts).size).toBe(eventTypes.length);
  for (const text of texts) expect(text).not.toMatch(/_|undefined|\s$/);
});

test('an event type added by a newer service is shown by its escaped name', () => {
  expect(textOf('constructor')).toBe('constructor');
  expect(textOf('moon_\u202Erises')).toBe('moon [U+202E]rises');
});

test('a name in an event cannot close its quotes or reorder the words around it', () => {
  expect(textOf('passkey_added', { name: '” was removed. \u202EOpen “evil' })).toBe(
    "Passkey “\u2068' was removed. [U+202E]Open 'evil\u2069” added",
  );
});

test.each<[type: string, detail: Event['detail'], text: string]>([
  ['passkey_renamed', { passkey_id: 'pk_a', name: 'a' }, 'Passkey renamed to “\u2068a\u2069”'],
  ['passkey_renamed', { passkey_ids: 'pk_a pk_b' }, 'Passkeys renamed'],
  [
    'key_refused',
    { name: 'a', claim: 'b' },
    'API key “\u2068a\u2069” refused a job: claim “\u2068b\u2069” does not match',
  ],
  ['session_revoked', { reason: 'moon' }, 'Session ended'],
  ['login', { method: 'moon', kind: 'moon' }, 'Signed in'],
  ['profile_changed', { fields: 'name moon time_zone' }, 'Profile updated: name and time zone'],
  ['sign_in_failed', { method: 'email_code', network: '192.0.2.0/24', count: 1 }, 'Wrong email code entered'],
  ['sign_in_failed', { method: 'passkey', count: 3 }, 'Sign-in with a passkey refused, 3 times'],
  ['sign_in_failed', { method: 'moon', count: 2 }, 'Sign-in failed, 2 times'],
])('the text of %s says what is known of its details, %j, and leaves out the rest', (type, detail, text) => {
  expect(textOf(type, detail)).toBe(text);
});

test.each<[detail: Event['detail'], text: string]>([
  [{ role: 'owner' }, 'Added to the organization “\u2068Acme\u2069” (Owner)'],
  [{ role: 'admin', former_role: 'member' }, 'Role in the organization “\u2068Acme\u2069” changed to Admin'],
  [{ former_role: 'admin' }, 'Removed from the organization “\u2068Acme\u2069”'],
  [{ former_role: 'owner', reason: 'organization_deleted' }, 'Organization “\u2068Acme\u2069” deleted'],
  [{ role: 'moon', former_role: 'owner' }, 'Organization role changed'],
])('a change of a membership says what it means for the person: %j', (detail, text) => {
  expect(textOf('membership_changed', { name: 'Acme', ...detail })).toBe(text);
});
