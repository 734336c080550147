import type { Introspection } from '@latchkey/contract/services';
import { type Check, isBoolean, isNumber, isText, listOf, objectWith } from './answers.ts';
import { LatchkeyError } from './errors.ts';

type Claims = Extract<Introspection, { readonly active: true }>;

/** A membership of the user. Store the `id`: after an organization is deleted, another one can get its slug. */
export type TokenOrganization = NonNullable<Claims['organizations']>[number];

/** A service that acts for the user. `act` is the one it got the token from. @see RFC 8693 section 4.1 */
export interface Actor {
  /** The service's ID. */
  readonly sub: string;
  readonly act?: Actor | undefined;
}

/** A restriction of what the token may do. Each type defines its other members. @see RFC 9396 section 2 */
export type AuthorizationDetail = NonNullable<Claims['authorization_details']>[number];

/**
 * An active access token or key, by the names on the wire; `Caller` says what the members mean. The service may add members.
 * @see RFC 7662 section 2.2
 */
export type ActiveToken = Pick<Claims, 'active' | 'sub' | 'exp'> &
  Partial<Omit<Claims, 'acr' | 'act' | 'token_use'>> & {
    readonly acr?: string;
    readonly act?: Actor;
    /** Default: `access_token`. */
    readonly token_use?: 'access_token' | 'key';
    readonly [member: string]: unknown;
  };

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
