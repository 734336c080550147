import { z } from 'zod';
import { fieldLimits } from './field-limits.ts';
import { readOnly, text, time, visibleText } from './fields.ts';

export const profile = z
  .object({
    id: z.string(),
    email: z.string(),
    email_verified: z.boolean(),
    name: z.string(),
    avatar_url: z.string().nullable(),
    locale: z.string().nullable(),
    time_zone: z.string().nullable(),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'Profile' });
export type Profile = z.infer<typeof profile>;

/** What a token may see of the profile: the members of the scopes `email` and `profile` are absent without them. */
export const profileView = profile
  .partial({
    email: true,
    email_verified: true,
    name: true,
    avatar_url: true,
    locale: true,
    time_zone: true,
  })
  .meta({ id: 'ProfileView', description: 'The profile, as far as the scope of the token allows.' });
export type ProfileView = z.infer<typeof profileView>;

/** Strict: rejects spaces, control characters and mistakes that URL parsers silently correct. */
const isHttpsUrl = (value: string) => {
  if (!/^https:\/\/[^\s\\\p{C}]+$/u.test(value)) return false;
  const url = URL.parse(value);
  return url?.protocol === 'https:' && url.username === '' && url.password === '';
};

const canonicalLocale = (value: string) => {
  try {
    return Intl.getCanonicalLocales(value)[0];
  } catch {
    return undefined;
  }
};

/** An IANA name such as Europe/Zurich. `Intl` also accepts offsets such as +01:00, which are not names. */
const isTimeZoneName = (value: string) => {
  if (!/^[A-Za-z]/.test(value)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: value });
    return true;
  } catch {
    return false;
  }
};

/** A JSON merge patch: absent members are unchanged, and `null` clears a member. @see RFC 7396 */
export const profilePatch = z.object({
  name: visibleText(fieldLimits.profileName).optional(),
  avatar_url: text(fieldLimits.avatarUrl).refine(isHttpsUrl, 'must be an https URL').nullable().optional(),
  locale: text(fieldLimits.locale)
    .refine((tag) => canonicalLocale(tag) !== undefined, 'must be a BCP 47 language tag')
    .nullable()
    .optional(),
  time_zone: text(fieldLimits.timeZone)
    .refine(isTimeZoneName, 'must be an IANA time zone name')
    .nullable()
    .optional(),
  id: readOnly,
  email: readOnly,
  email_verified: readOnly,
  created_at: readOnly,
  updated_at: readOnly,
});
export type ProfilePatch = z.infer<typeof profilePatch>;
