import type { Organization } from '@latchkey/contract/organizations';
import { type Check, isBoolean, isNumber, isText, listOf, objectWith } from './answers.ts';
import { LatchkeyError } from './errors.ts';

/** A membership of the user. Store the `id`: after an organization is deleted, another one can get its slug. */
export type TokenOrganization = Pick<Organization, 'id' | 'slug' | 'role'>;

/** A service that acts for the user. `act` is the one it got the token from. @see RFC 8693 section 4.1 */
export interface Actor {
  /** The service's ID. */
  readonly sub: string;
  readonly act?: Actor;
}

/** A restriction of what the token may do. Each type defines its other members. @see RFC 9396 section 2 */
export interface AuthorizationDetail {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** An active access token or key. The service may add members. @see RFC 7662 section 2.2 */
export interface ActiveToken {
  readonly active: true;
  /** Default: `access_token`. */
  readonly token_use?: 'access_token' | 'key';
  /** The user ID. The ID of a service (`svc_…`) for one that acts for itself. */
  readonly sub: string;
  /** The session ID; of a key, the key's ID. A service that acts for itself has none. */
  readonly sid?: string;
  /** Seconds since 1970. */
  readonly exp: number;
  /** Names separated by spaces; `*` is everything the user may do. @see RFC 6749 section 3.3 */
  readonly scope?: string;
  /** The resource that the token is bound to, which is always one of the service that asks. @see RFC 8707 */
  readonly aud?: string;
  /** When the user signed in, in seconds since 1970. Not for sign-ins by device code, keys and runs. */
  readonly auth_time?: number;
  /** How the user signed in. Present together with `auth_time`. @see RFC 8176 */
  readonly amr?: readonly string[];
  /** `phr` for a passkey. @see RFC 9470 section 6.2 */
  readonly acr?: string;
  /** With scope `profile`, or the right `users` of the service that asks. */
  readonly name?: string;
  /** With the right `users` of the service that asks, like `email_verified`. */
  readonly email?: string;
  readonly email_verified?: boolean;
  /** With scope `organizations`, or the right `users`: the first 100, the personal one first. */
  readonly organizations?: readonly TokenOrganization[];
  /** Whether there are more than the first 100. */
  readonly organizations_truncated?: boolean;
  /** The service that acts for the user. */
  readonly act?: Actor;
  readonly authorization_details?: readonly AuthorizationDetail[];
  /** The IDs of the sessions and keys that a run is within, the nearest first. */
  readonly within?: readonly string[];
  readonly [member: string]: unknown;
}

export type Verification = { readonly active: false } | ActiveToken;

export const inactive: Verification = { active: false };

/** What a request may be authorized with. A refresh token is for its client and Latchkey alone. */
const acceptedUses: readonly unknown[] = ['access_token', 'key'];

/**
 * Checks an introspection response. Members that decide what a caller may do must have their documented types: a
 * restriction that cannot be read would otherwise be none.
 * @throws {LatchkeyError} `not_latchkey` for a missing or mistyped member
 */
export function parseVerification(body: unknown): Verification {
  const claims = Object(body) as Record<string, unknown>;
  const { active, sub, sid, exp, token_use = 'access_token' } = claims;
  if (active === false || !acceptedUses.includes(token_use)) return inactive;
  if (active !== true || !isText(sub) || !isNumber(exp)) throw broken('is incomplete');
  if (sid === undefined && !sub.startsWith('svc_')) throw broken('is incomplete');
  for (const [member, isValid] of Object.entries(memberChecks)) {
    const value = claims[member];
    if (value !== undefined && !isValid(value)) throw broken(`has a ${member} of an unknown type`);
  }
  return body as ActiveToken;
}

const membersOf = (value: unknown) => Object(value) as Record<string, unknown>;

const isOrganization = objectWith({ id: isText, slug: isText, role: isText });

/** A loop, because recursion would end with the stack on a response of a hundred thousand actors. */
const isActor: Check = (value) => {
  for (let actor = value; actor !== undefined; actor = membersOf(actor)['act'])
    if (!isText(membersOf(actor)['sub'])) return false;
  return true;
};

const memberChecks: Readonly<Record<string, Check>> = {
  sid: isText,
  scope: isText,
  aud: isText,
  auth_time: isNumber,
  amr: listOf(isText),
  acr: isText,
  name: isText,
  email: isText,
  email_verified: isBoolean,
  organizations: listOf(isOrganization),
  organizations_truncated: isBoolean,
  act: isActor,
  authorization_details: listOf(objectWith({ type: isText })),
  within: listOf(isText),
};

const broken = (how: string) => new LatchkeyError('not_latchkey', `The introspection response ${how}.`);
