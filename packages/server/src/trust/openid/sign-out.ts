import type { SignedOut, SignOutParameters } from '@latchkey/contract/openid';
import type { Caller, Context } from '../../platform/context.ts';
import { invalidRequest } from '../../platform/errors.ts';
import type { ClientInfo } from '../../platform/values/client-address.ts';
import { allowsRedirect, withParameters } from '../../platform/values/redirect-uri.ts';
import { findServiceClient } from '../../services/service-keys.ts';
import { endSession } from '../../sessions/ending.ts';
import type { SigningKeys } from '../signing-keys/signing-keys.ts';
import { readIdentityToken } from './identity-tokens.ts';

/**
 * Checks a request to sign out: which user its hint names, and where to go afterwards. Ends nothing.
 * @throws {AuthError} `invalid_request`
 * @see OpenID Connect RP-Initiated Logout section 2
 */
export async function checkSignOut(
  ctx: Context,
  keys: SigningKeys,
  { id_token_hint, client_id, post_logout_redirect_uri: uri, state }: SignOutParameters,
) {
  const hint = id_token_hint === undefined ? undefined : await readIdentityToken(ctx, keys, id_token_hint);
  if (id_token_hint !== undefined && !hint)
    throw invalidRequest('id_token_hint: is not an identity token of this service');
  if (hint && client_id !== undefined && hint.clientId !== client_id)
    throw invalidRequest('client_id: differs from the audience of id_token_hint');
  if (uri === undefined) return { hint, redirect: null };
  const clientId = client_id ?? hint?.clientId;
  const service = clientId === undefined ? undefined : await findServiceClient(ctx.db.read, clientId);
  if (!service?.signOutRedirectUris.some((registered) => allowsRedirect(registered, uri)))
    throw invalidRequest('post_logout_redirect_uri: is not registered for this client');
  return { hint, redirect: state === undefined ? uri : withParameters(uri, { state }) };
}

/**
 * Ends the browser's session, and the session of the application that the identity token names, if that
 * belongs to the same user or no user is signed in.
 * @throws {AuthError} `invalid_request`
 */
export async function confirmSignOut(
  ctx: Context,
  keys: SigningKeys,
  parameters: SignOutParameters,
  { caller, client }: { readonly caller: Caller | undefined; readonly client: ClientInfo },
): Promise<SignedOut> {
  const { hint, redirect } = await checkSignOut(ctx, keys, parameters);
  if (hint && (!caller || caller.userId === hint.userId))
    await endSession(ctx, caller ?? { userId: hint.userId }, hint.sessionId, client);
  if (caller) await endSession(ctx, caller, caller.sessionId, client);
  return { redirect };
}
