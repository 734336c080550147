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
import { dialectOf } from '../http/body.ts';
import type { Reply } from '../http/call.ts';
import type { Api } from '../http/pipeline.ts';
import { readBasic, writeBasic } from '../values/basic.ts';
import type { Grant, GrantCall } from './grant.ts';

/** The grant of each grant type. A device code and a refresh token also come as JSON; their response is a set of tokens. */
interface Grants extends Readonly<Record<GrantType, Grant>> {
  readonly [deviceCodeGrantType]: Grant<TokenSet>;
  readonly [refreshGrantType]: Grant<TokenSet>;
}

/** The token endpoint takes every grant as a form, and a device code also as JSON. `/refresh` takes refresh tokens, as both. */
export function tokenRoutes(api: Api, ctx: Context, grants: Grants): void {
  const { [deviceCodeGrantType]: deviceCode, [refreshGrantType]: refresh } = grants;
  const noticeCodes: Parameters<typeof api.on>[3] = async (request, received, client, reply) => {
    if (received instanceof AuthError || reply?.isOwnCode) return;
    for (const code of codesIn(request, received))
      for (const grant of Object.values(grants)) await grant.onCode?.(ctx, code, client);
  };
  api.on(endpoints.issueToken, (call) => deviceCode.redeem(ctx, call), redeemForm(ctx, grants), noticeCodes);
  api.on(
    endpoints.refresh,
    (call) => refresh.redeem(ctx, call),
    redeemForm(ctx, { [refreshGrantType]: refresh }),
    noticeCodes,
  );
}

/** Each `code` of a body, also of one that is refused for its form. */
function codesIn(request: Request, received: Uint8Array): Iterable<string> {
  const text = new TextDecoder().decode(received);
  const dialect = dialectOf(request);
  const codes = dialect === 'form' ? new URLSearchParams(text).getAll('code') : [];
  if (dialect === 'json') {
    const body = parsed(text);
    if (typeof body === 'object' && body !== null && 'code' in body && typeof body.code === 'string')
      codes.push(body.code);
    // As text, too, because a parser forgets all but the last of duplicate members.
    const written = text.matchAll(/"code"\s*:\s*"([^"\\]*)"/g);
    codes.push(...[...written].map(([, code]) => code!));
  }
  return new Set(codes.map((code) => code.trim()));
}

/** Undefined for what is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
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
