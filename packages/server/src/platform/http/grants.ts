import type { TokenSet } from '@latchkey/contract/tokens';
import type { Context } from '../context.ts';
import { AuthError } from '../errors.ts';
import type { ClientInfo } from '../values/client-info.ts';
import type { WaitPreference } from '../values/wait-preference.ts';
import type { Reply } from './call.ts';

/** The parameters of a token request. Each grant uses some of them. */
export interface GrantParameters {
  readonly device_code?: string | undefined;
  readonly refresh_token?: string | undefined;
  readonly scope?: string | undefined;
  readonly resource?: string | undefined;
}

interface GrantCall {
  readonly client: ClientInfo;
  readonly idempotencyKey: string | undefined;
  readonly wait: WaitPreference | undefined;
  readonly body: GrantParameters;
}

/** One way to get tokens at the OAuth token endpoint. */
export interface Grant {
  readonly grantType: string;
  redeem(ctx: Context, call: GrantCall): Promise<Reply<TokenSet>>;
}

/** @throws {AuthError} `invalid_request` if the parameter is missing */
export function requireParameter(parameters: GrantParameters, name: keyof GrantParameters): string {
  const value = parameters[name];
  if (value === undefined) throw new AuthError('invalid_request', `${name}: is missing`);
  return value;
}

/**
 * The form handler of an endpoint that redeems grants: selects one by `grant_type`.
 * @throws {AuthError} `unsupported_grant_type`
 * @see RFC 6749 section 4.5
 */
export const redeemFormGrant =
  (ctx: Context, grants: readonly Grant[]) =>
  async (
    call: GrantCall & { readonly body: GrantParameters & { readonly grant_type: string } },
  ): Promise<Reply<TokenSet>> => {
    const grant = grants.find(({ grantType }) => grantType === call.body.grant_type);
    if (!grant) throw new AuthError('unsupported_grant_type', 'grant_type: not supported by this endpoint');
    return grant.redeem(ctx, call);
  };
