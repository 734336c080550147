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

const site = (name: string) => ({ 'Sec-Fetch-Site': name });
const origin = (of: string) => ({ Origin: of });
// The header that an old browser sends over http. No page of another origin can send it alone.
const page = { 'Latchkey-Page': '1' };

test.each<['own' | 'allowed' | 'foreign', Record<string, string>[]]>([
  ['own', [site('same-origin'), origin(own), page]],
  ['allowed', [origin(allowed), { ...origin(allowed), ...site('cross-site') }]],
  [
    'foreign',
    [{}, ...[evil, 'null', `${own}.evil.example`, `${own}:8443`, 'http://auth.example'].map(origin)],
  ],
  ['foreign', ['same-site', 'cross-site', 'none'].map(site)],
  [
    'foreign',
    [{ 'Latchkey-Page': 'true' }, { ...origin('null'), ...page }, { ...site('same-site'), ...page }],
  ],
])('a request of a page that is %s is known by its headers: %j', (kind, requests) => {
  for (const headers of requests) {
    const expected = [headers, kind === 'own', kind !== 'foreign'];
    expect([headers, isFrom('own', headers), isFrom('allowed', headers)]).toEqual(expected);
  }
});
