import { expect, test } from 'bun:test';
import { readConfig } from '../../settings.ts';
import { requirePage } from './origin.ts';

const [own, allowed, evil] = ['https://auth.example', 'https://dashboard.example', 'https://evil.example'];
const config = readConfig({ LATCHKEY_BASE_URL: own, LATCHKEY_ALLOWED_ORIGINS: allowed });
const isFrom = (of: 'own' | 'allowed', headers: Record<string, string>): boolean => {
  try {
    requirePage(config, new Headers(headers), of);
    return true;
  } catch (error) {
    expect(error).toMatchObject({ code: 'origin_not_allowed' });
    return false;
  }
};

test.each<[Record<string, string>, 'own' | 'allowed' | 'foreign']>([
  [{ 'Sec-Fetch-Site': 'same-origin' }, 'own'],
  [{ Origin: own }, 'own'],
  // Of an old browser, over http. No page of another origin can send it alone.
  [{ 'Latchkey-Page': '1' }, 'own'],
  [{ Origin: allowed }, 'allowed'],
  [{ Origin: allowed, 'Sec-Fetch-Site': 'cross-site' }, 'allowed'],
  [{}, 'foreign'],
  [{ 'Latchkey-Page': 'true' }, 'foreign'],
  ...[evil, 'null', `${own}.evil.example`, `${own}:8443`, 'http://auth.example'].map(
    (Origin): [Record<string, string>, 'foreign'] => [{ Origin }, 'foreign'],
  ),
  ...['same-site', 'cross-site', 'none'].map((site): [Record<string, string>, 'foreign'] => [
    { 'Sec-Fetch-Site': site },
    'foreign',
  ]),
  [{ Origin: 'null', 'Latchkey-Page': '1' }, 'foreign'],
  [{ 'Sec-Fetch-Site': 'same-site', 'Latchkey-Page': '1' }, 'foreign'],
])('a request with %j is from a page that is %s', (headers, page) => {
  expect([isFrom('own', headers), isFrom('allowed', headers)]).toEqual([page === 'own', page !== 'foreign']);
});
