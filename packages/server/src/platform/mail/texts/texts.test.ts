import { expect, test } from 'bun:test';
import { languages } from '@latchkey/contract/languages';
import { textProblems } from '#support/texts.ts';
import { mailTexts } from './texts.ts';

/** What a list of mails shows of a subject on most screens; the name of the product is not counted. */
const maxSubjectLength = 100;

test.each([...languages])('mails say everything in %s that they say in English', (language) => {
  expect(textProblems(language, mailTexts[language], mailTexts.en)).toEqual([]);
  const subjects = Object.values(mailTexts[language].notices).flatMap((one) => [
    one.subject,
    one.digestSubject,
  ]);
  for (const subject of subjects) expect(subject.length).toBeLessThanOrEqual(maxSubjectLength);
});

test('a text, a placeholder or a plural form that is missing is found', () => {
  const reference = { a: 'Hello {name}', many: { one: '{count} day', other: '{count} days' } };
  expect(textProblems('de', { a: 'Hallo {name}', many: reference.many }, reference)).toEqual([]);
  expect(textProblems('de', { a: 'Hallo', many: { other: '{count} Tage' } }, reference)).toEqual([
    'a: other placeholders than in English',
    'many: plural forms are not one, other',
  ]);
  expect(textProblems('ja', { a: ' ', many: { other: '日' }, more: 'x' }, reference)).toEqual([
    'a: empty',
    'many.other: other placeholders than in English',
    'more: not in English',
  ]);
  expect(textProblems('fr', {}, { a: 'x' })).toEqual(['a: missing']);
});

test('a text whose line could break before a mark or inside a word is found', () => {
  const problem = ['a: a line could break inside a word or before a mark'];
  expect(textProblems('fr', { a: 'Vraiment ?' }, { a: 'Really?' })).toEqual(problem);
  expect(textProblems('fr', { a: 'Vraiment\u00a0?' }, { a: 'Really?' })).toEqual([]);
  expect(textProblems('de', { a: 'E-Mail' }, { a: 'Email' })).toEqual(problem);
  expect(textProblems('ja', { a: '1 回' }, { a: 'Once' })).toEqual(problem);
});
