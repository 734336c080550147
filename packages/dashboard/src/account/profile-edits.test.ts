import { expect, test } from 'bun:test';
import { mergeEdits, patchOf } from './profile-edits.ts';

const base = { name: 'Ada', locale: 'en', time_zone: '' };

test('a patch holds only the changed fields, and null for cleared ones', () => {
  expect(patchOf({ ...base, name: 'Ada L.', locale: '' }, base)).toEqual({ name: 'Ada L.', locale: null });
  expect(patchOf(base, base)).toEqual({});
});

test('edits survive a concurrent change, and untouched fields take it over', () => {
  const typed = { ...base, name: 'Ada L.', time_zone: 'Europe/Paris' };
  const stored = { ...base, name: 'Countess', locale: 'fr', time_zone: 'Europe/Paris' };
  const merged = mergeEdits(typed, base, stored);
  expect(merged).toEqual({ ...stored, name: 'Ada L.' });
  expect(patchOf(merged, stored)).toEqual({ name: 'Ada L.' });
});
