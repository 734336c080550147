import { expect, test } from 'bun:test';
import { mergeEdits, patchOf } from './profile-edits.ts';

const base = { name: 'Ada', locale: 'en', time_zone: '', avatar_url: '' };

test('only what was changed is sent, and what was emptied is cleared', () => {
  expect(patchOf({ ...base, name: 'Ada L.', locale: '' }, base)).toEqual({ name: 'Ada L.', locale: null });
  expect(patchOf(base, base)).toEqual({});
});

test('a change made elsewhere overwrites nothing that was typed, and nothing typed overwrites it unasked', () => {
  const typed = { ...base, name: 'Ada L.', time_zone: 'Europe/Paris' };
  const stored = { ...base, name: 'Countess', locale: 'fr', time_zone: 'Europe/Paris' };
  const { texts, conflicts } = mergeEdits(typed, base, stored);
  expect(texts).toEqual({ ...stored, name: 'Ada L.' });
  expect(conflicts).toEqual({ name: 'Countess' });
  expect(patchOf(texts, stored)).toEqual({ name: 'Ada L.' });
});
