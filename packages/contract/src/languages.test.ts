import { expect, test } from 'bun:test';
import { languageOf } from './languages.ts';

test.each([
  ['de', 'de'],
  ['de-CH', 'de'],
  ['DE-ch-1996', 'de'],
  ['pt', 'pt-BR'],
  ['pt-PT', 'pt-BR'],
  ['pt-br', 'pt-BR'],
  ['ja-JP-u-ca-japanese', 'ja'],
  ['es-419', 'es'],
])('%s is served in %s', (tag, language) => {
  expect(languageOf(tag)).toBe(language as 'de');
});

test.each(['zh', 'den', '', '*', '-', 'x-de', null, undefined])('%p is none of the languages', (tag) => {
  expect(languageOf(tag)).toBeUndefined();
});
