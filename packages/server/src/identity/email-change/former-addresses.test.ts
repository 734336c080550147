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

const days = formerAddressTtlSeconds / 86_400;
const V = 'V@a.example';

test.each<[string, Parameters<typeof restored>, string | undefined]>([
  ['nothing has changed', [[v], v], undefined],
  ['the address that it had at first, to which it went', [[v, e], v], v],
  ['it went to the address that the account has', [[v, e], e], undefined],
  ['it went to an address in between', [[v, e, w], e], undefined],
  ['the change was before the session', [[v, e, w], v, 1], undefined],
  ['away and back', [[v, e, v], v], undefined],
  ['away and back, since the middle', [[v, e, v], e, 1], undefined],
  ['away, back and away', [[v, e, v, e], v], v],
  ['only the second of two within 30 days', [[v, w, e], w, 1], undefined],
  ['the first of two within 30 days', [[v, w, e], v], v],
  ['just within 30 days of the first', [[v, w, e], w, 1, days - 1], undefined],
  ['30 days after the first', [[v, w, e], w, 1, days], w],
  ['within 7 days after it was left', [[v, e, w], v, 0, 6], v],
  ['7 days after it was left', [[v, e, w], v, 0, 7], undefined],
  ['within 7 days after it was left for the second time', [[v, e, v, w], v, 0, 6], v],
  ['another letter case is another address', [[v, V], v], v],
  ['the letter case that the account has', [[v, V], V], undefined],
  ['where a link went has no letter case', [[v, V, e], V], v],
])('what a link restores: %s', (_, had, address) => {
  expect(restored(...had)).toBe(address);
});
