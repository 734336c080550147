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

/** For a profile that changed from `base` to `stored` meanwhile: what was typed stays, the rest changes. */
export function mergeEdits(typed: Texts, base: Texts, stored: Texts): Texts {
  const untouched = fields.filter((field) => typed[field] === base[field]);
  return { ...typed, ...Object.fromEntries(untouched.map((field) => [field, stored[field]])) };
}
