// Authorization requests: what a client asks the user of a browser for. The rules without the database are in
// request.ts, the exchange of the code for tokens in redeeming.ts.

import {
  type AuthorizationParameters,
  type AuthorizationResponse,
  clientErrors,
} from '@latchkey/contract/authorize';
import { fieldLimits } from '@latchkey/contract/field-limits';
import { everything, holdsEverything } from '@latchkey/contract/scope-names';
import type { Context, Requester } from '../../platform/context.ts';
import { mintHandle, readHandle, subjectBytes } from '../../platform/crypto/handle.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { AuthError, invalidRequest, invalidScope } from '../../platform/errors.ts';
import type { ClientInfo } from '../../platform/values/client-address.ts';
import { withoutEmpty } from '../../platform/values/parameters.ts';
import { isLoopbackRedirect } from '../../platform/values/redirect-uri.ts';
import { type Client, type Clients, isLoopbackClient } from '../../services/clients.ts';
import {
  describeScope,
  holdAccess,
  listScopesOfResource,
  resolveAccess,
  serviceOf,
} from '../../services/scopes.ts';
import {
  hasAppSession,
  isSignedInWithin,
  lockAccountAs,
  sessionIdOf,
  signInRequired,
} from '../../sessions/sessions.ts';
import type { Act, ConfirmedAct, Touch } from '../../sessions/touches.ts';
import { touches } from '../passkeys/touch.ts';
import { firstSeen } from './first-seen.ts';
import { codeIdOf, sessionSecretOf } from './redeeming.ts';
import {
  type AuthorizationRequest,
  errorResponseTo,
  parseRequest,
  type ResponseTarget,
  requireClientId,
  responseTarget,
  responseTo,
  type SentParameters,
} from './request.ts';
import * as store from './store.ts';

const codeTtlSeconds = 60;

/** What an authorization request depends on besides the database. */
export interface AuthorizeOptions {
  readonly clients: Clients;
  /** The user that an identity token issued here names, expired or not; undefined for any other text. */
  readonly userOfIdToken: (token: string) => Promise<string | undefined>;
}

/** An authorization request that may be approved. */
type CheckedRequest = Awaited<ReturnType<typeof checkRequest>>;

/** An error that belongs to the client. Throws any other. */
function errorForClient(error: unknown): AuthError {
  if (error instanceof AuthError && error.code in clientErrors) return error;
  throw error;
}

/** Runs `work`; an error that belongs to the client gets the response that takes it there. */
const answeringClient = <T>(target: ResponseTarget, work: () => Promise<T>): Promise<T> =>
  work().catch((thrown) => {
    const error = errorForClient(thrown);
    throw error.withMembers(errorResponseTo(target, error));
  });

/** @throws {AuthError} `invalid_request`, `rate_limited` */
async function findTarget(
  { config }: Context,
  { clients }: AuthorizeOptions,
  sent: SentParameters,
  requestedBy: ClientInfo,
): Promise<{ client: Client; target: ResponseTarget }> {
  const client = await clients.find(requireClientId(sent), requestedBy);
  if (!client) throw invalidRequest('client_id: is unknown');
  return { client, target: responseTarget(sent, client, config.baseUrl) };
}

/**
 * Checks a request, and resolves the only user who may approve it, if the client named one.
 * @throws {AuthError} errors that belong to the client, to which `answeringClient` attaches the response
 */
async function checkRequest(
  ctx: Context,
  { userOfIdToken }: AuthorizeOptions,
  sent: SentParameters,
  { client, target }: { readonly client: Client; readonly target: ResponseTarget },
) {
  const request = parseRequest(sent, client);
  const { idTokenHint } = request;
  const expectedUserId = idTokenHint === undefined ? undefined : await userOfIdToken(idTokenHint);
  if (idTokenHint !== undefined && expectedUserId === undefined)
    throw invalidRequest('id_token_hint: is not an identity token of this service');
  return {
    client,
    target,
    request,
    ...(await resolveClientAccess(ctx, client, request)),
    expectedUserId,
    needsApproval: !client.isTrusted || request.needsConsent,
  };
}

/** What the client gets if the user approves. @throws {AuthError} `invalid_scope`, `invalid_target` */
async function resolveClientAccess(ctx: Context, client: Client, requested: AuthorizationRequest) {
  const mayDoEverything = client.isTrusted || client.kind === 'command_line';
  const { scope, resource } = await resolveAccess(ctx, {
    scope: requested.scope ?? (mayDoEverything ? everything : undefined),
    resource: requested.resource,
  });
  if (scope === null) return { scope: await defaultScope(ctx.db.read, resource), resource };
  if (holdsEverything(scope) && !mayDoEverything)
    throw invalidScope(`scope: this client cannot ask for ${everything}`);
  return { scope, resource };
}

async function defaultScope(on: Executor, resource: string | null): Promise<string> {
  const names = resource === null ? [] : await listScopesOfResource(on, resource);
  if (names.length > 0 && names.length <= fieldLimits.scopes) return names.join(' ');
  throw invalidScope(
    names.length === 0
      ? 'scope: is missing'
      : `scope: is missing, and the service of the resource has more than the ${fieldLimits.scopes} that a request can name`,
  );
}

/**
 * Judges a request for the page, before anybody has signed in. An `unknown` one lacks a known client or its
 * redirect URI. A `known` one has a `refusal` if the client gets an error.
 * @throws {AuthError} `rate_limited`
 */
export async function assessRequest(
  ctx: Context,
  options: AuthorizeOptions,
  sent: SentParameters,
  requestedBy: ClientInfo,
) {
  const found = await findTarget(ctx, options, sent, requestedBy).catch(errorForClient);
  if (found instanceof AuthError) return { outcome: 'unknown', error: found } as const;
  const checked = await checkRequest(ctx, options, sent, found).catch(errorForClient);
  const known = { outcome: 'known', ...found } as const;
  if (!(checked instanceof AuthError)) return { ...known, needsNewSignIn: checked.request.needsNewSignIn };
  return { ...known, refusal: { error: checked, response: errorResponseTo(found.target, checked) } };
}

/** Who asks, and where the response goes. */
export const sourceOf = ({ id, name, kind, host }: Client, { redirectUri }: ResponseTarget) => ({
  client: { id, name, kind, host },
  redirect_host: isLoopbackRedirect(redirectUri) ? null : new URL(redirectUri).host,
});

/** An authorization request, with the signed-in user who is asked to approve it. */
export interface AskedRequest extends Requester {
  readonly body: AuthorizationParameters;
  readonly requestsCookie: string | undefined;
}

/**
 * Whether the user has approved as much before, to a service with a key at an https redirect URI, which no
 * other program can receive. That counts while a session that it led to is active.
 */
const isApproved = async (
  ctx: Context,
  { client, target, request, scope, resource }: CheckedRequest,
  userId: string,
): Promise<boolean> =>
  client.kind === 'service' &&
  !client.isPublic &&
  !request.needsConsent &&
  target.redirectUri.startsWith('https:') &&
  hasAppSession(ctx, { userId, clientId: client.id }, { scope, resource });

/** A request that its approver may see. @throws {AuthError} `login_required`, and those of the request */
async function checkFor(
  ctx: Context,
  options: AuthorizeOptions,
  { body, caller: { userId }, client }: AskedRequest,
): Promise<CheckedRequest> {
  const sent = { values: body, duplicates: [] };
  const found = await findTarget(ctx, options, sent, client);
  return answeringClient(found.target, async () => {
    const checked = await checkRequest(ctx, options, sent, found);
    const { expectedUserId = userId } = checked;
    if (expectedUserId === userId)
      return {
        ...checked,
        needsApproval: checked.needsApproval && !(await isApproved(ctx, checked, userId)),
      };
    throw new AuthError('login_required', 'id_token_hint: names another user than the one signed in');
  });
}

/**
 * The maximum age that the client set, if the approver has to sign in again. A new sign-in is one that began
 * after the request first came to this browser, which without the page is now.
 */
function signInNeeded(
  ctx: Context,
  { request: { maxAgeSeconds, needsNewSignIn } }: CheckedRequest,
  { caller, body, requestsCookie }: AskedRequest,
): number | undefined {
  if (maxAgeSeconds === undefined) return undefined;
  const cameAt = firstSeen(ctx, requestsCookie, body) ?? ctx.clock();
  const isNew = !needsNewSignIn || caller.authenticatedAt > cameAt;
  return isNew && isSignedInWithin(ctx, caller, maxAgeSeconds) ? undefined : maxAgeSeconds;
}

/** What approving takes: a newer sign-in, or a touch in place of a recent one. */
async function neededFor(ctx: Context, checked: CheckedRequest, asked: AskedRequest) {
  const { caller } = asked;
  const passkey = checked.needsApproval ? await touches.offer(ctx, caller, actOf(checked, asked)) : null;
  const isRecentEnough =
    !checked.needsApproval || passkey || isSignedInWithin(ctx, caller, ctx.config.recentLoginTtlSeconds);
  return { sign_in_needed: !isRecentEnough || signInNeeded(ctx, checked, asked) !== undefined, passkey };
}

/** What the approver agrees to. */
const actOf = ({ scope, resource }: CheckedRequest, { body }: AskedRequest): Act => ({
  act: 'approve an application',
  shown: { ...withoutEmpty(body), scope, resource },
});

/** Describes a request to the user who may approve it. @throws {AuthError} the errors of the request */
export async function verifyRequest(ctx: Context, options: AuthorizeOptions, asked: AskedRequest) {
  const checked = await checkFor(ctx, options, asked);
  const { client, target, request, scope, resource } = checked;
  const isLoopback = isLoopbackRedirect(target.redirectUri);
  return {
    ...sourceOf(client, target),
    loopback_warning: isLoopbackClient(client) || (isLoopback && target.responseMode === 'query'),
    scope,
    scopes: await describeScope(ctx.db.read, scope),
    resource,
    resource_service: resource === null ? null : await serviceOf(ctx.db.read, resource),
    device_name: request.deviceName,
    approval: checked.needsApproval ? ('needed' as const) : ('given' as const),
    ...(await neededFor(ctx, checked, asked)),
  };
}

/**
 * Approves an authorization request with the scope that was shown, and issues its code.
 * @throws {AuthError} `insufficient_user_authentication`, `rate_limited`, those of
 * the request, and those of the touch
 */
export async function approveRequest(
  ctx: Context,
  options: AuthorizeOptions,
  asked: AskedRequest,
  touch: Touch,
): Promise<AuthorizationResponse> {
  const { body, caller } = asked;
  if (body.scope === undefined) throw invalidRequest('scope: is missing');
  const checked = await checkFor(ctx, options, asked);
  const { client, target, request, scope, resource } = checked;
  const maxAgeSeconds = signInNeeded(ctx, checked, asked);
  if (maxAgeSeconds !== undefined) throw signInRequired(maxAgeSeconds);
  if (checked.needsApproval) await touches.require(ctx, caller, touch);
  await ctx.limiter.take({ limit: 'authorizations', subject: caller.userId });
  const secret = ctx.random(subjectBytes);
  const now = ctx.clock();
  const expires_at = now + codeTtlSeconds * 1000;
  const issue = async (tx: Executor, { account, passkeyId }: ConfirmedAct): Promise<void> => {
    await holdAccess(tx, { scope, resource });
    await store.insertCode(tx, {
      id: codeIdOf(secret),
      user_id: caller.userId,
      session_epoch: account.session_epoch,
      approved_by: caller.sessionId,
      session_id: sessionIdOf(sessionSecretOf(secret)),
      client_id: client.id,
      client_name: client.name,
      device_name: request.deviceName,
      redirect_uri: target.redirectUri,
      redirect_uri_named: Number(request.isRedirectUriNamed),
      code_challenge: request.codeChallenge,
      scope,
      resource,
      nonce: request.nonce,
      passkey_id: passkeyId,
      created_at: now,
      expires_at,
    });
  };
  await answeringClient(target, () =>
    checked.needsApproval
      ? touches.confirm(ctx, asked, touch, async () => actOf(checked, asked), issue)
      : ctx.db.transaction(async (tx) =>
          issue(tx, { account: await lockAccountAs(ctx, tx, caller), passkeyId: null }),
        ),
  );
  const code = mintHandle(ctx.keys, 'authorizationCode', { subject: secret, value: expires_at });
  return responseTo(target, { code });
}

/**
 * Denies an authorization request. Changes nothing: the client learns of the denial from the response.
 * @throws {AuthError} the errors of the request
 */
export async function denyRequest(ctx: Context, options: AuthorizeOptions, asked: AskedRequest) {
  const { target } = await checkFor(ctx, options, asked);
  return errorResponseTo(target, { code: 'access_denied', message: 'The user denied the request.' });
}

export const { spendCodes } = store;

/** Spends an unredeemed code; ignores any other string. @see RFC 7009 section 2.1 */
export async function revokeCode(ctx: Context, text: string): Promise<void> {
  const handle = readHandle(ctx.keys, 'authorizationCode', text);
  if (handle) await store.spend(ctx.db.single, { id: codeIdOf(handle.subject), now: ctx.clock() });
}
