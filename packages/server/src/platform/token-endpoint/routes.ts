import { endpoints } from '@latchkey/contract/endpoints';
import {
  deviceCodeGrantType,
  type GrantParameters,
  type GrantType,
  type IssuedToken,
  refreshGrantType,
  type TokenSet,
} from '@latchkey/contract/tokens';
import type { Context } from '../context.ts';
import { AuthError, invalidRequest } from '../errors.ts';
import type { Reply } from '../http/call.ts';
import type { Api, Around } from '../http/pipeline.ts';
import { readBasic, writeBasic } from '../values/basic.ts';
import type { Grant, GrantCall } from './grant.ts';

/** The grant of each grant type. A device code and a refresh token also come as JSON; their response is a set of tokens. */
interface Grants extends Readonly<Record<GrantType, Grant>> {
  readonly [deviceCodeGrantType]: Grant<TokenSet>;
  readonly [refreshGrantType]: Grant<TokenSet>;
}

/** The token endpoint takes every grant as a form, and a device code also as JSON. `/refresh` takes refresh tokens, as both. */
export function tokenRoutes(api: Api, ctx: Context, grants: Grants, around: Around): void {
  const { [deviceCodeGrantType]: deviceCode, [refreshGrantType]: refresh } = grants;
  api.on(endpoints.issueToken, (call) => deviceCode.redeem(ctx, call), redeemForm(ctx, grants), around);
  api.on(
    endpoints.refresh,
    (call) => refresh.redeem(ctx, call),
    redeemForm(ctx, { [refreshGrantType]: refresh }),
    around,
  );
}

/**
 * Redeems the grant that `grant_type` names.
 * @throws {AuthError} `unsupported_grant_type`, `invalid_request`
 * @see RFC 6749 section 4.5
 */
function redeemForm<Tokens extends TokenSet | IssuedToken>(
  ctx: Context,
  grants: Readonly<Partial<Record<GrantType, Grant<Tokens>>>>,
) {
  const byType = new Map(Object.entries(grants));
  return async (
    call: GrantCall & { readonly body: GrantParameters & { readonly grant_type: string } },
  ): Promise<Reply<Tokens>> => {
    const grant = byType.get(call.body.grant_type);
    if (!grant) throw new AuthError('unsupported_grant_type', 'grant_type: not supported by this endpoint');
    const authorization = clientAuthorization(call);
    try {
      return await grant.redeem(ctx, { ...call, authorization, isForm: true });
    } catch (error) {
      // The key came in the body. @see RFC 6749 section 5.2
      if (
        error instanceof AuthError &&
        error.code === 'invalid_client' &&
        authorization !== call.authorization
      )
        throw error.asBadRequest();
      throw error;
    }
  };
}

/**
 * The `Authorization` header of a token request, whose service key may also be in its form.
 * @throws {AuthError} `invalid_request` if header and form contradict each other
 * @see RFC 6749 section 2.3.1
 */
function clientAuthorization({
  authorization,
  body: { client_id: id, client_secret: secret },
}: Pick<GrantCall, 'authorization' | 'body'>): string | null {
  const basic = readBasic(authorization);
  if (secret !== undefined && authorization !== null)
    throw invalidRequest('client_secret: the request has an Authorization header already');
  if (secret !== undefined && id === undefined) throw invalidRequest('client_id: is missing');
  if (basic !== undefined && id !== undefined && basic.slice(0, basic.indexOf(':')).trim() !== id.trim())
    throw invalidRequest('client_id: differs from the Authorization header');
  return secret === undefined || id === undefined ? authorization : writeBasic(id, secret);
}
