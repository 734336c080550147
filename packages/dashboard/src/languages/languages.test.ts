import { expect, test } from 'bun:test';
import { languages } from '@latchkey/contract/languages';
import { emptyScopes } from '@latchkey/contract/scope-names';
import { ownScopes } from '@latchkey/contract/scopes';
import { textProblems } from '#support/texts.ts';
import { allTexts } from './all.ts';

const others = languages.filter((language) => language !== 'en');

test.each(others)('pages say everything in %s that they say in English', (language) => {
  expect(textProblems(language, { ...allTexts[language] }, { ...allTexts.en })).toEqual([]);
});

/** Texts that may be the same as in English. */
const sameWords = new Set([
  ...['{what}: {names}', '{label}: {value}', '“{name}”', '{first} {second}'],
  ...['Browser', 'Details', 'Host', 'Name', 'Passkeys', 'Personal', 'Sessions', 'User agent'],
]);

/** The paths of all texts that are the same as in English. */
function untranslated(texts: unknown, english: unknown, path = ''): string[] {
  if (typeof texts === 'string')
    return texts === english && !sameWords.has(texts) ? [`${path}: ${texts}`] : [];
  if (typeof texts !== 'object' || texts === null) return [];
  return Object.entries(texts).flatMap(([key, text]) =>
    untranslated(text, (english as Readonly<Record<string, unknown>> | undefined)?.[key], `${path}.${key}`),
  );
}

test.each(others)('nothing is left in English in %s', (language) => {
  expect(untranslated(allTexts[language], allTexts.en)).toEqual([]);
});

test('the sentences of the own scopes are those of the service', () => {
  expect<object>(ownScopes).toMatchObject(allTexts.en.common.scopes);
  const shown = Object.keys(ownScopes).filter((name) => !emptyScopes.includes(name));
  expect(Object.keys(allTexts.en.common.scopes)).toEqual(shown);
});

test('a text that is written into HTML holds nothing that HTML would read', () => {
  for (const language of languages)
    expect(JSON.stringify(allTexts[language].frame)).not.toMatch(/[<>&]|\{\{/);
});
