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
