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

test('what is missing or too much, other placeholders and plural forms, and lines that could break in the wrong place are found', () => {
  const days = { one: '{count} day', other: '{count} days' };
  const english = { a: 'Hello {name}', b: days, c: days, d: 'Email', e: 'x' };
  const texts = { a: 'Hallo', b: { other: '{count} Tage' }, c: { one: '{count} Tag', other: 'Tage' } };
  expect(textProblems('de', { ...texts, d: 'E-Mail', more: ' ' }, english).toSorted()).toEqual([
    'a: other placeholders than in English',
    'b: plural forms are not one, other',
    'c.other: other placeholders than in English',
    'd: a line could break inside a word or before a mark',
    'e: missing',
    'more: not in English',
  ]);
  expect(
    textProblems('fr', { a: 'Vraiment ?', b: 'Vraiment\u00a0?' }, { a: 'Really?', b: 'Really?' }),
  ).toEqual(['a: a line could break inside a word or before a mark']);
});
