import { z } from 'zod';
import { at, define } from './endpoint.ts';
import { examples } from './examples.ts';
import { fieldLimits } from './field-limits.ts';
import {
  addressShown,
  described,
  emailAddress,
  emailedToken,
  emailVerified,
  expiresIn,
  model,
  personName,
  pictureUrl,
  readOnlyMembers,
  shown,
  shownOrNull,
  text,
  time,
  userId,
  visibleText,
} from './fields.ts';

/** What users set themselves. Columns, `/me`, the scope `profile`, updates and events follow from it. */
const fields = {
  name: personName,
  avatar_url: pictureUrl,
  locale: shownOrNull('The language of emails, dates and times, as a BCP 47 tag. Null if not set.', 'en-GB'),
  time_zone: shownOrNull('The IANA name of the time zone. Null if not set.', 'Europe/London'),
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

/** What a token may see of the profile. Members of `email` and `profile` are absent without those scopes. */
const profileView = profile.partial(maskOf(['email', 'email_verified', ...profileFields])).meta({
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

const newAddress = 'ada@new.example';

const emailChangeToken = z.object({ token: emailedToken(examples.emailChangeToken) });

export const accountEndpoints = {
  getProfile: define({
    ...at('profile', 'get', '/me'),
    title: 'Get the profile',
    notes: 'Responds with 304 if the profile still matches If-None-Match.',
    access: 'bearer',
    scopes: ['profile', 'email'],
    headers: { 'If-None-Match': 'The ETag of a cached profile.' },
    etag: true,
    response: profileView,
  }),
  updateProfile: define({
    ...at('profile', 'patch', '/me'),
    title: 'Update the profile',
    notes: 'Takes a JSON merge patch (RFC 7396): absent members are unchanged, and null clears a member.',
    access: 'bearer',
    headers: { 'If-Match': 'The ETag of the profile to update. If it has changed since, the request fails.' },
    body: profilePatch,
    etag: true,
    response: profile,
    errors: {
      precondition_failed: 'The profile has changed since If-Match, or Latchkey-User names another user.',
      rate_limited: true,
    },
  }),
  deleteAccount: define({
    ...at('profile', 'delete', '/me'),
    title: 'Delete the account',
    summary: "Permanently deletes the user's account and all of its data",
    notes: 'Fails with conflict if the user is the only owner of an organization.',
    access: 'recent',
    status: 204,
    errors: { conflict: 'The user is the only owner of an organization.' },
  }),
  requestEmailChange: define({
    ...at('profile', 'post', '/me/email'),
    title: 'Request an email change',
    summary: 'Emails a confirmation link to a new email address',
    notes: 'The response is the same whether or not another account uses the address.',
    access: 'recent',
    body: z.object({
      email: described(emailAddress, 'The new address. The case of ASCII letters is ignored.', newAddress),
    }),
    status: 202,
    response: model('EmailChangeSent', 'Identical whether or not another account uses the address.', {
      status: described(z.literal('sent'), 'Always `sent`.'),
      expires_in: expiresIn('the link', 3600),
    }),
    errors: { signup_disabled: 'Addresses of this domain are not allowed here.', rate_limited: true },
  }),
  verifyEmailChange: define({
    ...at('profile', 'post', '/me/email/verify'),
    title: 'Change the email address',
    notes:
      'Takes the token of the link, and either a session of the account or its current address. Sends a security notice to the previous address, from which the change can be undone.',
    access: 'optional',
    body: emailChangeToken.extend({
      current_email: described(
        emailAddress.optional(),
        "The account's current email address. Required unless the request carries a credential of that account.",
        examples.email,
      ),
    }),
    response: profile,
    errors: {
      invalid_grant: 'The link is unknown, expired or already used, or the current address is wrong.',
      conflict: 'Another account has this address.',
      account_disabled: true,
      rate_limited: true,
    },
  }),
  previewEmailChange: define({
    ...at('profile', 'post', '/me/email/preview'),
    title: 'Check an email change',
    summary: 'Returns the email change that a confirmation link would make',
    notes: 'Requires a session of the account. Changes nothing.',
    access: 'bearer',
    body: emailChangeToken,
    response: model('EmailChangePreview', 'What a confirmation link would change.', {
      email: described(addressShown, 'The current email address.'),
      new_email: shown('The address that the link would set.', newAddress),
    }),
    errors: {
      invalid_grant: 'The link is unknown, expired, already used, or for another account.',
      rate_limited: true,
    },
  }),
} as const;
