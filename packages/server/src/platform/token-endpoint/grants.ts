import { endpoints } from '@latchkey/contract/endpoints';
import { fieldLimits } from '@latchkey/contract/field-limits';
import {
  accessTokenType,
  deviceCodeGrantType,
  type GrantParameters,
  type GrantType,
  type IssuedToken,
  refreshGrantType,
  type TokenSet,
} from '@latchkey/contract/tokens';
import type { Context, SentServiceKey, TokenRequest } from '../context.ts';
import { AuthError, invalidRequest } from '../errors.ts';
import { dialectOf } from '../http/body.ts';
import type { CallHeaders, Reply } from '../http/call.ts';
import type { Afterwards, Api } from '../http/pipeline.ts';
import type { ClientInfo } from '../values/client-address.ts';
import { duplicateMember, parseExactly } from '../values/json.ts';

export interface GrantCall
  extends TokenRequest,
    Pick<CallHeaders, 'wait' | 'presentedCredential' | 'requireExpectedUser'> {}

/** One way to get tokens. Authenticates its client or service before it checks the rest of the request. */
export interface Grant<Tokens extends TokenSet | IssuedToken = TokenSet | IssuedToken> {
  redeem(ctx: Context, call: GrantCall): Promise<Reply<Tokens>>;
}

/** @throws {AuthError} `invalid_request` if the parameter is missing */
export function requireParameter(parameters: GrantParameters, name: keyof GrantParameters): string {
  const value = parameters[name];
  if (value === undefined) throw invalidRequest(`${name}: is missing`);
  return value;
}

/** Ignoring them would drop a restriction that the client asked for. @throws {AuthError} `invalid_request` */
export function refuseAuthorizationDetails(body: { readonly authorization_details?: unknown }): void {
  if (body.authorization_details !== undefined)
    throw invalidRequest('authorization_details: is not supported here');
}

/** The parsed `authorization_details`. Text that is not valid JSON stays text, which is refused as such. */
function readDetails({ authorization_details: text }: GrantParameters): unknown {
  if (text === undefined) return undefined;
  try {
    const details = parseExactly(text);
    return duplicateMember(text, details) === undefined ? details : text;
  } catch {
    return text;
  }
}

/** What a client requests for a run. @throws {AuthError} `invalid_request` for what no run supports */
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

/** The lifetime that the client requests, if it does, in seconds. @throws {AuthError} `invalid_request` */
export function readLifetime({ expires_in: requested }: GrantParameters): number | undefined {
  if (requested === undefined) return undefined;
  const seconds = /^[1-9]\d{0,4}$/.test(requested) ? Number(requested) : 0;
  const { runMinSeconds, runMaxSeconds } = fieldLimits;
  if (seconds >= runMinSeconds && seconds <= runMaxSeconds) return seconds;
  throw invalidRequest(`expires_in: must be a whole number from ${runMinSeconds} to ${runMaxSeconds}`);
}

/** The grant of each type. Device codes and refresh tokens also come as JSON, and give a set of tokens. */
interface Grants extends Readonly<Record<GrantType, Grant>> {
  readonly [deviceCodeGrantType]: Grant<TokenSet>;
  readonly [refreshGrantType]: Grant<TokenSet>;
}

/** Authenticates a client that signs its requests. */
type IdentifyClient = <Call extends GrantCall>(call: Call) => Promise<Call>;

/**
 * Called with the authorization codes in a request before the response is sent.
 * @param ended what the grant returned, or the error that refuses the request
 */
export type OnCodes = (
  codes: ReadonlySet<string>,
  client: ClientInfo,
  ended: Parameters<Afterwards>[3],
) => Promise<void>;

/** Serves the token endpoint, with device codes also as JSON, and `/refresh` for refresh tokens as both. */
export function tokenRoutes(
  api: Api,
  ctx: Context,
  grants: Grants,
  identifyClient: IdentifyClient,
  onCodes: OnCodes,
): void {
  /** Only a request that names a client may have to prove that. */
  const identify: IdentifyClient = async (call) => {
    const { client_id, client_assertion, client_assertion_type } = call.body;
    return (client_id ?? client_assertion ?? client_assertion_type) === undefined
      ? call
      : identifyClient(call);
  };
  const afterwards: Afterwards = async (request, received, client, ended) => {
    const codes = codesIn(request, received);
    if (codes.size > 0) await onCodes(codes, client, ended);
  };
  const { [deviceCodeGrantType]: deviceCode, [refreshGrantType]: refresh } = grants;
  api.on(
    endpoints.issueToken,
    (call) => deviceCode.redeem(ctx, call),
    redeemForm(ctx, grants, identify),
    afterwards,
  );
  api.on(
    endpoints.refresh,
    async (call) => refresh.redeem(ctx, await identify(call)),
    redeemForm(ctx, { [refreshGrantType]: refresh }, identify),
    afterwards,
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
  identify: IdentifyClient,
) {
  const byType = new Map(Object.entries(grants));
  return async (
    call: GrantCall & { readonly body: GrantParameters & { readonly grant_type: string } },
  ): Promise<Reply<Tokens>> => {
    const grant = byType.get(call.body.grant_type);
    if (!grant) throw new AuthError('unsupported_grant_type', 'grant_type: not supported by this endpoint');
    const serviceKey = serviceKeyOf(call);
    try {
      return await grant.redeem(ctx, await identify({ ...call, serviceKey, isForm: true }));
    } catch (error) {
      // The key came in the body. @see RFC 6749 section 5.2
      const isInBody = serviceKey !== call.serviceKey;
      throw error instanceof AuthError && error.code === 'invalid_client' && isInBody
        ? error.asBadRequest()
        : error;
    }
  };
}

/**
 * The service key of a token request, which may be in the `Authorization` header or in the form.
 * @throws {AuthError} `invalid_request` if header and form contradict each other
 * @see RFC 6749 section 2.3.1
 */
function serviceKeyOf({
  serviceKey,
  body: { client_id: id, client_secret: secret },
}: Pick<GrantCall, 'serviceKey' | 'body'>): SentServiceKey | undefined {
  if (secret !== undefined && serviceKey)
    throw invalidRequest('client_secret: the request has an Authorization header already');
  if (secret !== undefined && id === undefined) throw invalidRequest('client_id: is missing');
  if (serviceKey?.id && id !== undefined && serviceKey.id !== id.trim())
    throw invalidRequest('client_id: differs from the Authorization header');
  return secret === undefined || id === undefined ? serviceKey : { id: id.trim(), secret: secret.trim() };
}

/** Each `code` of a body, even of one that is refused for its form. */
function codesIn(request: Request, received: Uint8Array): ReadonlySet<string> {
  const text = new TextDecoder().decode(received);
  const dialect = dialectOf(request);
  const codes = dialect === 'form' ? new URLSearchParams(text).getAll('code') : [];
  if (dialect === 'json') {
    // As text, because a parser refuses what is malformed, and forgets all but the last of duplicate members.
    const written = withoutEscapes(text).matchAll(/"code"\s*:\s*"([^"]*)"/g);
    codes.push(...[...written].map(([, code]) => code!));
  }
  return new Set(codes.map((code) => code.trim()));
}

/** JSON with its escapes of ASCII characters resolved. It may no longer be JSON. */
const withoutEscapes = (json: string): string =>
  json
    .replaceAll(/\\[fnrt]/g, ' ')
    .replaceAll(/\\u00([0-7][\da-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
