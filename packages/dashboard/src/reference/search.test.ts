import { expect, test } from 'bun:test';
import { type SearchEntry, search } from './search.ts';

const entry = (title: string, within = '', text = ''): SearchEntry => ({ title, within, text, url: title });
const entries = [
  entry('Refresh tokens', 'Sessions and tokens', 'POST /api/v1/auth/refresh'),
  entry('Create a key', 'Keys', 'POST /api/v1/auth/keys'),
  entry('name', 'Create a key', 'Shown to the user, to tell keys apart.'),
  entry('client_name', 'Start a device sign-in'),
];
const titles = (query: string) => search(entries, query).map(({ title }) => title);

test('a title that is the query comes before one that contains it', () => {
  expect(titles('name')).toEqual(['name', 'client_name']);
});

test('every word must be found, in the title or elsewhere, whatever its case', () => {
  expect(titles('POST keys')).toEqual(['Create a key']);
  expect(titles('refresh nothing')).toEqual([]);
});

test('an empty query finds nothing', () => {
  expect(titles(' ')).toEqual([]);
});
