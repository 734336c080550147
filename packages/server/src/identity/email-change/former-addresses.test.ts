import { expect, test } from 'bun:test';
import { addressToRestore, formerAddressTtlSeconds } from './email-change.ts';

const dayMs = 86_400_000;

/** What a link to an address restores, of an account that had these addresses for a day each and has the last one for an hour. */
function restored(addresses: readonly string[], sentTo: string, hadAtFirst = 0, daysEach = 1) {
  const changes = addresses.slice(1).map((_, index) => {
    const changed_at = (index + 1) * daysEach * dayMs;
    const old_email = addresses[index]!;
    const old_email_key = old_email.toLowerCase();
    return { old_email, old_email_key, changed_at, expires_at: changed_at + 7 * dayMs, ordinal: index + 1 };
  });
  const now = (changes.at(-1)?.changed_at ?? 0) + dayMs / 24;
  return addressToRestore(changes, { sentTo, since: hadAtFirst + 0.5, current: addresses.at(-1)!, now });
}

const [v, w, e] = ['v@a.example', 'w@a.example', 'e@b.example'];

test('a link restores the address that the account had when the session began, if it was sent there', () => {
  expect(restored([v], v)).toBeUndefined();
  expect(restored([v, e], v)).toBe(v);
  expect(restored([v, e], e)).toBeUndefined();
  expect(restored([v, e, w], e)).toBeUndefined();
  expect(restored([v, e, w], v, 1)).toBeUndefined();
});

test('away and back: an address that the account has again is kept', () => {
  expect(restored([v, e, v], v)).toBeUndefined();
  expect(restored([v, e, v], e, 1)).toBeUndefined();
  expect(restored([v, e, v, e], v)).toBe(v);
});

test('of the addresses within 30 days only the first is restored', () => {
  expect(restored([v, w, e], w, 1)).toBeUndefined();
  expect(restored([v, w, e], v)).toBe(v);
  const days = formerAddressTtlSeconds / 86_400;
  expect(restored([v, w, e], w, 1, days - 1)).toBeUndefined();
  expect(restored([v, w, e], w, 1, days)).toBe(w);
});

test('an address is restored for 7 days after the account left it last', () => {
  expect(restored([v, e, w], v, 0, 6)).toBe(v);
  expect(restored([v, e, w], v, 0, 7)).toBeUndefined();
  expect(restored([v, e, v, w], v, 0, 6)).toBe(v);
});

test('letter case counts for what the account has, but not for where a link went', () => {
  expect(restored(['v@a.example', 'V@a.example'], 'v@a.example')).toBe('v@a.example');
  expect(restored(['v@a.example', 'V@a.example'], 'V@a.example')).toBeUndefined();
  expect(restored(['v@a.example', 'V@a.example', e], 'V@a.example')).toBe('v@a.example');
});
