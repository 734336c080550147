// Who may create an account, and how one is created.

import type { Config } from '../../platform/config/config.ts';
import type { Context } from '../../platform/context.ts';
import { newId } from '../../platform/crypto/random.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { AuthError } from '../../platform/errors.ts';
import { emailKeyOf } from '../../platform/values/email-key.ts';
import { type NewEvent, recordEvent } from '../../security-log/events/events.ts';
import { createPersonalOrganization } from '../organizations/organizations.ts';
import * as store from './store.ts';

/** The length of a WebAuthn user handle in bytes. @see WebAuthn Level 3 section 14.6.1 */
const userHandleBytes = 64;

/** Whether the sign-up setting allows a new account for an address: always, never, or by its domain. */
export const isSignupAllowed = (signup: Config['signup'], emailKey: string): boolean =>
  signup !== 'closed' && isAddressAllowed(signup, emailKey);

/** Whether the sign-up setting allows an existing account to change to an address: only domains restrict that. */
export const isAddressAllowed = (signup: Config['signup'], emailKey: string): boolean =>
  typeof signup === 'string' || signup.includes(emailKey.slice(emailKey.lastIndexOf('@') + 1));

export const signupDisabled = () =>
  new AuthError('signup_disabled', 'No account can be created with this email address.');

export interface NewAccount {
  readonly email: string;
  /** Default: the part of the address before the @. */
  readonly name?: string | undefined;
  readonly locale?: string | null | undefined;
  /** The WebAuthn user handle in base64url. Default: a random one. */
  readonly userHandle?: string | undefined;
}

/**
 * Creates an account with its personal organization; undefined if the address is taken or reserved. `cause` is what the
 * security log says about it.
 */
export async function createAccount(
  ctx: Context,
  tx: Executor,
  { email, name = email.slice(0, email.lastIndexOf('@')), locale = null, userHandle }: NewAccount,
  cause: Pick<NewEvent, 'client' | 'detail'>,
): Promise<string | undefined> {
  const [created] = await store.insertUser(tx, {
    id: newId('usr_', ctx.random),
    email,
    email_key: emailKeyOf(email),
    name,
    locale,
    webauthn_user_handle: userHandle ?? ctx.random(userHandleBytes).toString('base64url'),
    now: ctx.clock(),
  });
  if (!created) return undefined;
  await createPersonalOrganization(ctx, tx, { id: created.id, name });
  await recordEvent(ctx, tx, { type: 'account_created', userId: created.id, ...cause });
  return created.id;
}
