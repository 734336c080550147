import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { designSets } from '../../tools/design-sets.ts';

const root = join(import.meta.dir, '../..');

test.each(Object.entries(designSets()))('%s is what tools/design-sets.ts generates', (path, text) => {
  expect(readFileSync(join(root, path), 'utf8')).toBe(text);
});

test('every generated variable and icon is used', () => {
  const sets = designSets();
  const used = [...new Bun.Glob('packages/dashboard/src/**/*.{css,ts,tsx}').scanSync(root)];
  const text = used
    .filter((path) => !(path in sets))
    .map((path) => readFileSync(join(root, path), 'utf8'))
    .join('\n');
  const names = [
    ...Object.values(sets)[0]!.matchAll(/ (--[a-z0-9-]+):/g),
    ...Object.values(sets)[1]!.matchAll(/export const ([a-zA-Z]+)/g),
  ].map(([, name = '']) => name);
  expect([...new Set(names)].filter((name) => !text.includes(name))).toEqual([]);
});
