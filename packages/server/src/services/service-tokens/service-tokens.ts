// Access tokens of services that act for themselves, not for a user.

import { fieldLimits } from '@latchkey/contract/field-limits';
import type { IssuedToken } from '@latchkey/contract/tokens';
import type { CallingService, Context } from '../../platform/context.ts';
import { mintHandle, subjectBytes } from '../../platform/crypto/handle.ts';
import { sha256 } from '../../platform/crypto/hash.ts';
import { AuthError } from '../../platform/errors.ts';
import { isSameResource, spellingsOf } from '../../platform/values/resource.ts';
import { parseScope } from '../../platform/values/scope.ts';
import { findResource, findScopes } from '../service-keys/service-keys.ts';
import * as store from './store.ts';

/** As with sessions, the id is a hash of the secret in the token, which is not stored. */
const tokenIdOf = (secret: Uint8Array): string =>
  sha256('service token id', secret).subarray(0, subjectBytes).toString('base64url');

/** The request of a service for a token of its own. */
export interface RequestedToken {
  readonly scope: string | undefined;
  readonly resource: string | undefined;
  readonly expiresInSeconds: number | undefined;
}

/**
 * Issues an access token with which a service calls another one for itself. It has the scope of one resource within the
 * service's reach, and ends with the service.
 * @throws {AuthError} `invalid_target`, `invalid_scope`, `rate_limited`
 * @see RFC 6749 section 4.4
 */
export async function issueServiceToken(
  ctx: Context,
  service: CallingService,
  { expiresInSeconds = fieldLimits.runMaxSeconds, ...requested }: RequestedToken,
): Promise<IssuedToken> {
  const { resource, id: owner } = await requireReachable(ctx, service, requested.resource);
  const scope = await requireScopeOf(ctx, owner, requested.scope);
  await ctx.limiter.take({ limit: 'service_tokens', subject: service.id });
  const secret = ctx.random(subjectBytes);
  const now = ctx.clock();
  const expiresAt = now + expiresInSeconds * 1000;
  const [stored] = await store.insertServiceToken(ctx.db.single, {
    id: tokenIdOf(secret),
    service_id: service.id,
    resource: spellingsOf(resource)[0],
    scope,
    now,
    expires_at: expiresAt,
  });
  if (!stored) throw unreachable();
  return {
    access_token: mintHandle(ctx.keys, 'accessToken', { subject: secret, value: expiresAt }),
    token_type: 'Bearer',
    expires_in: expiresInSeconds,
    scope,
  };
}

const unreachable = () =>
  new AuthError('invalid_target', 'resource: must be a declared resource within the reach of this service');

/** @throws {AuthError} `invalid_target`, also for a missing resource. @see RFC 8707 section 2 */
async function requireReachable(
  ctx: Context,
  { reach }: CallingService,
  resource: string | undefined,
): Promise<{ readonly resource: string; readonly id: string }> {
  if (resource === undefined || !reach.some((reachable) => isSameResource(reachable, resource)))
    throw unreachable();
  const found = await findResource(ctx.db.read, resource);
  if (!found) throw unreachable();
  return found;
}

/**
 * The requested scope in its normal form.
 * @throws {AuthError} `invalid_scope` unless the service that declares the resource also declares each of its names
 */
async function requireScopeOf(ctx: Context, owner: string, requested: string | undefined): Promise<string> {
  const names = requested === undefined ? undefined : parseScope(requested);
  if (!names)
    throw new AuthError('invalid_scope', `scope: must be 1-${fieldLimits.scopes} scopes separated by spaces`);
  const declared = await findScopes(ctx.db.read, names);
  const foreign = names.find(
    (name) => !declared.some((scope) => scope.name === name && scope.service_id === owner),
  );
  if (foreign !== undefined)
    throw new AuthError('invalid_scope', `scope: the service of this resource has not declared ${foreign}`);
  return names.join(' ');
}

/** An access token of a service that acts for itself. Times are milliseconds since 1970. */
export interface ServiceToken {
  readonly serviceId: string;
  readonly scope: string;
  readonly resource: string;
  /** The service that declared the resource when the token was issued. No other service accepts it. */
  readonly resourceServiceId: string;
  readonly issuedAt: number;
  readonly endsAt: number;
}

/** The token with this secret, if it and its service are active. */
export async function findServiceToken(ctx: Context, secret: Uint8Array): Promise<ServiceToken | undefined> {
  const [row] = await store.findServiceToken(ctx.db.read, { id: tokenIdOf(secret), now: ctx.clock() });
  return (
    row && {
      serviceId: row.service_id,
      scope: row.scope,
      resource: row.resource,
      resourceServiceId: row.resource_service_id,
      issuedAt: row.created_at,
      endsAt: row.expires_at,
    }
  );
}

/** Ends the token with this secret, if there is one. */
export async function endServiceToken(ctx: Context, secret: Uint8Array): Promise<void> {
  await store.deleteServiceToken(ctx.db.single, { id: tokenIdOf(secret) });
}
