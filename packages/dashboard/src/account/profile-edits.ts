import type { Profile, ProfilePatch } from '@latchkey/contract/account';

/** What a person can change of their profile, in the order it is shown. */
export const fields = ['name', 'locale', 'time_zone', 'avatar_url'] as const;

/** The fields as they stand in a form; nothing given is empty. */
export type Texts = Record<(typeof fields)[number], string>;

export const textsOf = (profile: Profile): Texts => ({
  name: profile.name,
  locale: profile.locale ?? '',
  time_zone: profile.time_zone ?? '',
  avatar_url: profile.avatar_url ?? '',
});

/** What makes `texts` of `base`: only the fields that differ, the emptied ones as null. */
export function patchOf(texts: Texts, base: Texts): ProfilePatch {
  const changed = fields.filter((field) => texts[field] !== base[field]);
  return Object.fromEntries(changed.map((field) => [field, texts[field] || null]));
}

/**
 * A form over a profile that somebody else has changed from `base` to `stored`: fields that were not touched take
 * what is stored, the others keep what was typed. `conflicts` has what is stored of fields that both changed.
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
