import type { z } from 'zod';

type Issue = z.core.$ZodRawIssue;

const typeNames: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  null: 'null',
};

const sizeUnits: Readonly<Record<string, string>> = { string: ' characters', array: ' entries' };

const sized = (word: string, size: number | bigint, origin: string): string =>
  `must ${origin === 'array' ? 'have' : 'be'} at ${word} ${size}${sizeUnits[origin] ?? ''}`;

const isEmptyRefused = ({ origin, minimum }: { origin: string; minimum: number | bigint }) =>
  Number(minimum) === 1 && origin in sizeUnits;

/**
 * What is wrong with a field, to be read after its name, in words that do not depend on the library that checks it.
 * Words of the schema itself come before these.
 */
export function fieldError(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is required';
      return `must be ${typeNames[issue.expected] ?? 'of another type'}`;
    case 'invalid_value':
      if (issue.input === undefined) return 'is required';
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.map((value) => JSON.stringify(value)).join(', ')}`;
    case 'too_small':
      if (isEmptyRefused(issue)) return 'must not be empty';
      return sized('least', issue.minimum, issue.origin);
    case 'too_big':
      return sized('most', issue.maximum, issue.origin);
    default:
      return 'is not valid';
  }
}
