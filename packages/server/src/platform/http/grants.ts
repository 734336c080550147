import type { TokenSet } from '@latchkey/contract/tokens';
import type { Context } from '../context.ts';
import { AuthError } from '../errors.ts';
import type { ClientInfo } from '../values/client-info.ts';
import type { Reply } from './call.ts';

interface GrantCall {
  readonly client: ClientInfo;
  readonly idempotencyKey: string | undefined;
}

/** One way to get tokens at the OAuth token endpoint. */
export interface Grant {
  readonly grantType: string;
  /** The form parameter with the credential that this grant redeems. */
  readonly parameter: 'device_code' | 'refresh_token';
  redeem(ctx: Context, value: string, call: GrantCall): Promise<Reply<TokenSet>>;
}

interface GrantForm {
  readonly grant_type: string;
  readonly device_code?: string | undefined;
  readonly refresh_token?: string | undefined;
}

/**
 * The form handler of an endpoint that redeems grants: selects one by `grant_type`.
 * @throws {AuthError} `unsupported_grant_type`; `invalid_request` if the grant's parameter is missing
 * @see RFC 6749 section 4.5
 */
export const redeemFormGrant =
  (ctx: Context, grants: readonly Grant[]) =>
  async (call: GrantCall & { readonly body: GrantForm }): Promise<Reply<TokenSet>> => {
    const grant = grants.find(({ grantType }) => grantType === call.body.grant_type);
    if (!grant) throw new AuthError('unsupported_grant_type', 'grant_type: not supported by this endpoint');
    const value = call.body[grant.parameter];
    if (value === undefined) throw new AuthError('invalid_request', `${grant.parameter}: is missing`);
    return grant.redeem(ctx, value, call);
  };
