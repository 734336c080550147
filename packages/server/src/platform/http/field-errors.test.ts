import { expect, test } from 'bun:test';
import { z } from 'zod';
import { AuthError } from '../errors.ts';
import { check } from './body.ts';

const schema = z.object({
  name: z.string().min(1).max(5),
  size: z.int().min(2).max(9).optional(),
  flag: z.boolean().optional(),
  kind: z.enum(['a', 'b']).optional(),
  only: z.literal('x').optional(),
  list: z.array(z.string()).min(1).max(2).optional(),
  part: z.object({ id: z.string() }).optional(),
  url: z.url().optional(),
  own: z.string().regex(/^x/, 'must start with x').optional(),
  either: z.union([z.string(), z.boolean()]).optional(),
});

const refusalOf = (value: unknown): string => {
  try {
    check(schema, value, 'the body');
  } catch (error) {
    if (error instanceof AuthError) return error.message;
  }
  return 'accepted';
};

const withName = (more: object) => ({ name: 'n', ...more });

test.each([
  [undefined, 'the body: is required'],
  [[], 'the body: must be an object'],
  ['x', 'the body: must be an object'],
  [{}, 'name: is required'],
  [{ name: '' }, 'name: must not be empty'],
  [{ name: 'abcdef' }, 'name: must be at most 5 characters'],
  [{ name: 1 }, 'name: must be a string'],
  [{ name: null }, 'name: must be a string'],
  [withName({ size: '1' }), 'size: must be a number'],
  [withName({ size: 2.5 }), 'size: must be a whole number'],
  [withName({ size: 1 }), 'size: must be at least 2'],
  [withName({ size: 10 }), 'size: must be at most 9'],
  [withName({ flag: 'yes' }), 'flag: must be true or false'],
  [withName({ kind: 'c' }), 'kind: must be one of "a", "b"'],
  [withName({ only: 'y' }), 'only: must be "x"'],
  [withName({ list: {} }), 'list: must be an array'],
  [withName({ list: [] }), 'list: must not be empty'],
  [withName({ list: ['1', '2', '3'] }), 'list: must have at most 2 entries'],
  [withName({ list: [1] }), 'list.0: must be a string'],
  [withName({ part: {} }), 'part.id: is required'],
  [withName({ url: 'x' }), 'url: is not valid'],
  [withName({ own: 'y' }), 'own: must start with x'],
  [withName({ either: 1 }), 'either: is not valid'],
])('%j is refused in plain words: %s', (value, words) => {
  expect(refusalOf(value)).toBe(words);
});
