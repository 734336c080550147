import { expect, test } from 'bun:test';
import { languageOf } from '@latchkey/contract/languages';
import { preferredLanguage, prefersHtml } from './accept.ts';

test.each([
  ['de-CH,de;q=0.9,en;q=0.8', 'de'],
  ['zh-CN, fr;q=0.7, es;q=0.8', 'es'],
  ['en;q=0.5, ja', 'ja'],
  ['en-GB, de', 'en'],
  ['fr, de', 'fr'],
  ['pt-PT ; q=0.3', 'pt-BR'],
  ['pt', 'pt-BR'],
  ['DE-ch-1996', 'de'],
  ['es-419', 'es'],
  ['ja-JP-u-ca-japanese', 'ja'],
  ['de;q=0, fr;q=0.001', 'fr'],
  ['de;Q=0.1, fr;Q=0.2', 'fr'],
  [', ,;,de,', 'de'],
] as const)('of the languages of our emails, %p prefers %s', (header, language) => {
  expect(preferredLanguage(header)).toBe(language);
});

test.each(['nonsense', '', '-1', '1.001', '2', '1e9', 'Infinity', '0x1', '0.1234', ' 1'])(
  'a language with the quality %p is not accepted',
  (quality) => {
    expect(preferredLanguage(`de;q=${quality}, fr;q=0.1`)).toBe('fr');
  },
);

test.each([null, '', '*', 'zh', 'den', 'x-de', 'de;q=0', ';q=1', '-', '\u{1F600}'])(
  '%p prefers none of them',
  (header) => {
    expect(preferredLanguage(header)).toBeUndefined();
  },
);

test('a tag is read in any case', () => expect(['DE-ch', 'PT-br'].map(languageOf)).toEqual(['de', 'pt-BR']));

test('a header longer than browsers send is not read', () => {
  expect(preferredLanguage(`de,${'zh,'.repeat(300)}`)).toBe('de');
  expect(preferredLanguage(`de,${'zh,'.repeat(400)}`)).toBeUndefined();
});

const html = ['text/html', 'TEXT/HTML; Q=0.1', 'text/*', 'text/html, */*', '*/*;q=0.1, text/html;q=0.2'];
const notHtml = [
  ...['', '*/*', 'application/json', 'text/plain', 'xtext/html', 'text/html;q=x', 'text/html;q=0, */*'],
  ...['application/json, text/html', 'text/html, application/json', 'application/json, text/plain, */*'],
  ...['text/html;q=0.5, application/json;q=0.9', 'text/html;q=0.7, */*;q=0.8', '%'],
];
test('HTML goes to who prefers it to JSON', () => {
  expect([...html, ...notHtml].filter(prefersHtml)).toEqual(html);
});
