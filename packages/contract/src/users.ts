import { z } from 'zod';
import { examples } from './examples.ts';
import { fieldLimits } from './field-limits.ts';
import {
  addressShown,
  described,
  emailAddress,
  emailVerified,
  model,
  pageOf,
  pagination,
  personName,
  pictureUrl,
  shown,
  text,
  time,
  userId,
} from './fields.ts';
import { key } from './keys.ts';
import { organization } from './organizations.ts';
import { passkey } from './passkeys.ts';
import { session } from './sessions.ts';

/** An account as services with the right `users` see it. */
export const user = model('User', 'A user, as services see them.', {
  id: userId,
  email: addressShown,
  email_verified: emailVerified,
  name: personName,
  avatar_url: pictureUrl,
  disabled: described(z.boolean(), 'A disabled user has no sessions and cannot sign in.', false),
  created_at: time.meta({ description: 'When the account was created.' }),
});
export type User = z.infer<typeof user>;

export const userLookup = z.object({ email: emailAddress });

export const userSearch = pagination.extend({
  search: described(
    text(fieldLimits.search).optional(),
    'Only users with this text in their email address or name. Case does not matter.',
    'lovelace',
  ),
});

export const userList = pageOf('UserList', 'A page of users.', {
  users: z.array(user).meta({ description: 'The users, by email address.' }),
});

/** There is no current session for a service. */
const userSession = session
  .omit({ current: true })
  .meta({ id: 'UserSession', description: 'A session of a user, as operators see it.' });
export type UserSession = z.infer<typeof userSession>;

export const userSessionList = pageOf('UserSessionList', 'A page of sessions of a user.', {
  sessions: z.array(userSession).meta({ description: 'The active sessions, newest first.' }),
});

const userEmail = model('UserEmail', 'An email to a user, without its content.', {
  id: shown('The id of the email.', examples.mailId),
  kind: shown(
    '`sign_in`, `notice` (a security notice), `notice_digest` (several of them), `key_ends` (a key is about to expire), `email_change`, `email_restored` or `disowned`.',
    'sign_in',
  ),
  to: described(addressShown, 'The address it was sent to.', examples.email),
  created_at: time.meta({ description: 'When it was requested.' }),
  sent_at: time.nullable().meta({ description: 'When the mail server accepted it. Null if it did not.' }),
  outcome: described(
    z.enum(['sent', 'waiting', 'failed']),
    '`waiting`: it will be sent or tried again. `failed`: the mail server refused it, or it expired first.',
    'sent',
  ),
});
export type UserEmail = z.infer<typeof userEmail>;

export const userEmailList = pageOf('UserEmailList', 'A page of emails to a user.', {
  emails: z.array(userEmail).meta({ description: 'The emails, newest first.' }),
});

export const addressReport = model(
  'AddressReport',
  'What explains why somebody with an email address can or cannot sign in. Each list has at most 100 entries.',
  {
    user: user.nullable().meta({ description: 'The user with this address. Null without an account.' }),
    sign_up_allowed: described(
      z.boolean(),
      'Whether the settings allow an account to be created with this address.',
      true,
    ),
    passkeys: z.array(passkey).meta({ description: 'The passkeys of the user, newest first.' }),
    keys: z.array(key).meta({ description: 'The active keys of the user, newest first.' }),
    organizations: z
      .array(organization)
      .meta({ description: 'The organizations of the user, the first one joined first.' }),
    emails: z
      .array(userEmail)
      .meta({ description: 'The emails to this address, and to the user, newest first.' }),
  },
);
export type AddressReport = z.infer<typeof addressReport>;
