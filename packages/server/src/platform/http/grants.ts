import { fieldLimits } from '@latchkey/contract/field-limits';
import type { grantForm, IssuedToken, TokenSet } from '@latchkey/contract/tokens';
import type { z } from 'zod';
import type { Context } from '../context.ts';
import { AuthError } from '../errors.ts';
import type { ClientInfo } from '../values/client-info.ts';
import type { CallHeaders, Reply } from './call.ts';

/** The parameters of a token request. Each grant uses some of them. */
export type GrantParameters = Partial<z.output<typeof grantForm>>;

export interface GrantCall
  extends Pick<
    CallHeaders,
    'idempotencyKey' | 'wait' | 'authorization' | 'presentedCredential' | 'requireExpectedUser'
  > {
  readonly client: ClientInfo;
  readonly body: GrantParameters;
}

/** One way to get tokens at the OAuth token endpoint. */
export interface Grant<Tokens extends TokenSet | IssuedToken = TokenSet | IssuedToken> {
  readonly grantType: string;
  redeem(ctx: Context, call: GrantCall): Promise<Reply<Tokens>>;
}

/** @throws {AuthError} `invalid_request` if the parameter is missing */
export function requireParameter(parameters: GrantParameters, name: keyof GrantParameters): string {
  const value = parameters[name];
  if (value === undefined) throw new AuthError('invalid_request', `${name}: is missing`);
  return value;
}

/**
 * A restriction that was asked for must not get lost, so a request that cannot have one is refused.
 * @throws {AuthError} `invalid_request`
 */
export function refuseAuthorizationDetails(body: { readonly authorization_details?: unknown }): void {
  if (body.authorization_details !== undefined)
    throw new AuthError('invalid_request', 'authorization_details: is not supported here');
}

/**
 * The form handler of an endpoint that redeems grants: selects one by `grant_type`.
 * @throws {AuthError} `unsupported_grant_type`
 * @see RFC 6749 section 4.5
 */
export const redeemFormGrant =
  <Tokens extends TokenSet | IssuedToken>(ctx: Context, grants: readonly Grant<Tokens>[]) =>
  async (
    call: GrantCall & { readonly body: GrantParameters & { readonly grant_type: string } },
  ): Promise<Reply<Tokens>> => {
    const grant = grants.find(({ grantType }) => grantType === call.body.grant_type);
    if (!grant) throw new AuthError('unsupported_grant_type', 'grant_type: not supported by this endpoint');
    return grant.redeem(ctx, call);
  };

/**
 * The requested lifetime of an access token in seconds; undefined if the client leaves it to the service.
 * @throws {AuthError} `invalid_request`
 */
export function readLifetime({ expires_in: requested }: GrantParameters): number | undefined {
  if (requested === undefined) return undefined;
  const seconds = /^[1-9]\d{0,4}$/.test(requested) ? Number(requested) : 0;
  const { runMinSeconds, runMaxSeconds } = fieldLimits;
  if (seconds >= runMinSeconds && seconds <= runMaxSeconds) return seconds;
  throw new AuthError(
    'invalid_request',
    `expires_in: must be a whole number from ${runMinSeconds} to ${runMaxSeconds}`,
  );
}
