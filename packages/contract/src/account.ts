import { z } from 'zod';
import { examples } from './examples.ts';
import { fieldLimits } from './field-limits.ts';
import {
  addressShown,
  described,
  emailVerified,
  model,
  personName,
  pictureUrl,
  readOnlyMembers,
  shownOrNull,
  text,
  time,
  userId,
  visibleText,
} from './fields.ts';

/**
 * What users say about themselves: what the scope `profile` shows and a patch changes. The columns of accounts, `/me` and the
 * fields that events name follow from this list.
 */
const fields = {
  name: personName,
  avatar_url: pictureUrl,
  locale: shownOrNull(
    'The language of emails, dates and times, as a BCP 47 tag. Null if the user set none.',
    'en-GB',
  ),
  time_zone: shownOrNull('The IANA name of the time zone. Null if the user set none.', 'Europe/London'),
};
export type ProfileField = keyof typeof fields;
export const profileFields = Object.keys(fields) as readonly ProfileField[];

const fieldExamples = Object.fromEntries(
  Object.entries(fields).map(([name, field]) => [
    name,
    (field.meta() as { examples: readonly unknown[] }).examples[0],
  ]),
);
const times = { created_at: examples.time, updated_at: examples.time };

const maskOf = <Name extends string>(names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, true])) as Record<Name, true>;

export const profile = model('Profile', "A user's profile.", {
  id: userId,
  email: addressShown,
  email_verified: emailVerified,
  ...fields,
  created_at: described(time, 'When the account was created.'),
  updated_at: described(time, 'When the profile last changed.'),
});
export type Profile = z.infer<typeof profile>;

/** What a token may see of the profile: the members of the scopes `email` and `profile` are absent without them. */
export const profileView = profile.partial(maskOf(['email', 'email_verified', ...profileFields])).meta({
  id: 'ProfileView',
  description: 'The profile, as far as the scope of the token allows.',
  examples: [
    { id: examples.userId, email: examples.email, email_verified: true, ...fieldExamples, ...times },
  ],
});
export type ProfileView = z.infer<typeof profileView>;

/** Strict: rejects spaces, control characters and mistakes that URL parsers silently correct. */
const isHttpsUrl = (value: string) => {
  if (!/^https:\/\/[^\s\\\p{C}]+$/u.test(value)) return false;
  const url = URL.parse(value);
  return url?.protocol === 'https:' && url.username === '' && url.password === '';
};

const succeeds = (attempt: () => unknown): boolean => {
  try {
    attempt();
    return true;
  } catch {
    return false;
  }
};

const isLanguageTag = (value: string) => succeeds(() => Intl.getCanonicalLocales(value));

/** An IANA name such as Europe/Zurich. `Intl` also accepts offsets such as +01:00, which are not names. */
const isTimeZoneName = (value: string) =>
  /^[A-Za-z]/.test(value) && succeeds(() => new Intl.DateTimeFormat('en', { timeZone: value }));

const changes = {
  name: described(
    visibleText(fieldLimits.profileName).optional(),
    'What the user is called on pages, in emails and by services.',
    'Ada Lovelace',
  ),
  avatar_url: described(
    text(fieldLimits.avatarUrl).refine(isHttpsUrl, 'must be an https URL').nullable().optional(),
    'The https address of a picture for services to show. Null removes it.',
    'https://images.example/ada.png',
  ),
  locale: described(
    text(fieldLimits.locale).refine(isLanguageTag, 'must be a BCP 47 language tag').nullable().optional(),
    'The language of emails, dates and times, as a BCP 47 tag. Null removes it.',
    'en-GB',
  ),
  time_zone: described(
    text(fieldLimits.timeZone).refine(isTimeZoneName, 'must be an IANA time zone name').nullable().optional(),
    'The IANA name of the time zone of dates and times. Null removes it.',
    'Europe/London',
  ),
} satisfies Record<ProfileField, z.ZodType>;

/** A JSON merge patch: absent members are unchanged, and `null` clears a member. @see RFC 7396 */
export const profilePatch = z
  .object({ ...changes, ...readOnlyMembers(profile.omit(maskOf(profileFields))) })
  .meta({ examples: [{ name: 'Ada Lovelace', time_zone: 'Europe/London' }] });
export type ProfilePatch = z.infer<typeof profilePatch>;
