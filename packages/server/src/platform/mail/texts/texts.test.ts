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

const breaks = 'a: a line could break inside a word or before a mark';
const days = { one: '{count} day', other: '{count} days' };
test.each([
  ['de', { a: 'Hallo {name}', b: days }, { a: 'Hello {name}', b: days }, []],
  ['de', { a: 'Hallo' }, { a: 'Hello {name}' }, ['a: other placeholders than in English']],
  ['de', { a: { other: '{count} Tage' } }, { a: days }, ['a: plural forms are not one, other']],
  ['ja', { a: { other: '日' } }, { a: days }, ['a.other: other placeholders than in English']],
  ['ja', { a: ' ', more: 'x' }, { a: 'Hello' }, ['a: empty', 'more: not in English']],
  ['fr', {}, { a: 'x' }, ['a: missing']],
  ['fr', { a: 'Vraiment ?' }, { a: 'Really?' }, [breaks]],
  ['fr', { a: 'Vraiment\u00a0?' }, { a: 'Really?' }, []],
  ['de', { a: 'E-Mail' }, { a: 'Email' }, [breaks]],
  ['ja', { a: '1 回' }, { a: 'Once' }, [breaks]],
])('in %s, %j for %j has these problems: %j', (language, texts, english, problems) => {
  expect(textProblems(language, texts, english)).toEqual(problems);
});
