import type { Profile, ProfilePatch } from '@latchkey/contract/account';

/** The fields of a profile that the page edits, in display order. */
export const fields = ['name', 'locale', 'time_zone'] as const;

/** The form's values. A field that is not set is an empty string. */
export type Texts = Record<(typeof fields)[number], string>;

export const textsOf = (profile: Profile): Texts => ({
  name: profile.name,
  locale: profile.locale ?? '',
  time_zone: profile.time_zone ?? '',
});

/** The merge patch that turns `base` into `texts`: only changed fields, with null for cleared ones. */
export function patchOf(texts: Texts, base: Texts): ProfilePatch {
  const changed = fields.filter((field) => texts[field] !== base[field]);
  return Object.fromEntries(changed.map((field) => [field, texts[field] || null]));
}

/**
 * Three-way merge, for when the profile changed from `base` to `stored` while it was being edited. Untouched fields
 * take the stored value, edited ones keep what was typed. `conflicts` holds the stored values of fields changed on
 * both sides.
 */
export function mergeEdits(
  typed: Texts,
  base: Texts,
  stored: Texts,
): { texts: Texts; conflicts: Partial<Texts> } {
  const texts = { ...stored };
  const conflicts: Partial<Texts> = {};
  for (const field of fields) {
    if (typed[field] === base[field] || typed[field] === stored[field]) continue;
    texts[field] = typed[field];
    if (stored[field] !== base[field]) conflicts[field] = stored[field];
  }
  return { texts, conflicts };
}
