import { fieldLimits } from '@latchkey/contract/field-limits';
import {
  accessTokenType,
  type GrantParameters,
  type IssuedToken,
  type TokenSet,
} from '@latchkey/contract/tokens';
import type { Context } from '../context.ts';
import { invalidRequest } from '../errors.ts';
import type { CallHeaders, Reply } from '../http/call.ts';
import type { ClientInfo } from '../values/client-info.ts';
import { duplicateMember } from '../values/json.ts';

export interface GrantCall
  extends Pick<
    CallHeaders,
    'idempotencyKey' | 'wait' | 'authorization' | 'presentedCredential' | 'requireExpectedUser'
  > {
  readonly client: ClientInfo;
  readonly isForm?: true;
  readonly body: GrantParameters;
}

/**
 * One way to get tokens at the OAuth token endpoint. It authenticates its client, a service by its key, before it
 * checks the rest of the request.
 */
export interface Grant<Tokens extends TokenSet | IssuedToken = TokenSet | IssuedToken> {
  redeem(ctx: Context, call: GrantCall): Promise<Reply<Tokens>>;
}

/** @throws {AuthError} `invalid_request` if the parameter is missing */
export function requireParameter(parameters: GrantParameters, name: keyof GrantParameters): string {
  const value = parameters[name];
  if (value === undefined) throw invalidRequest(`${name}: is missing`);
  return value;
}

/**
 * A requested restriction must not get lost, so a request that does not support it is refused.
 * @throws {AuthError} `invalid_request`
 */
export function refuseAuthorizationDetails(body: { readonly authorization_details?: unknown }): void {
  if (body.authorization_details !== undefined)
    throw invalidRequest('authorization_details: is not supported here');
}

/** The parsed `authorization_details`, undefined if there are none. Text that is not valid JSON stays text, which is refused as such. */
function readDetails({ authorization_details: text }: GrantParameters): unknown {
  if (text === undefined) return undefined;
  try {
    const details: unknown = JSON.parse(text);
    return duplicateMember(text, details) === undefined ? details : text;
  } catch {
    return text;
  }
}

/**
 * What a run is requested to be. What no run can have is refused.
 * @throws {AuthError} `invalid_request`
 */
export function readRunRequest(body: GrantParameters) {
  const unsupported = (['audience', 'actor_token', 'actor_token_type'] as const).find(
    (name) => body[name] !== undefined,
  );
  if (unsupported) throw invalidRequest(`${unsupported}: is not supported`);
  if (body.requested_token_type !== undefined && body.requested_token_type !== accessTokenType)
    throw invalidRequest(`requested_token_type: must be ${accessTokenType}`);
  const { scope, resource } = body;
  return { scope, resource, authorizationDetails: readDetails(body), expiresInSeconds: readLifetime(body) };
}

/**
 * The requested lifetime of an access token in seconds; undefined if the client leaves it to the service.
 * @throws {AuthError} `invalid_request`
 */
export function readLifetime({ expires_in: requested }: GrantParameters): number | undefined {
  if (requested === undefined) return undefined;
  const seconds = /^[1-9]\d{0,4}$/.test(requested) ? Number(requested) : 0;
  const { runMinSeconds, runMaxSeconds } = fieldLimits;
  if (seconds >= runMinSeconds && seconds <= runMaxSeconds) return seconds;
  throw invalidRequest(`expires_in: must be a whole number from ${runMinSeconds} to ${runMaxSeconds}`);
}
