// Access tokens of services that act for themselves, not for a user.

import { fieldLimits } from '@latchkey/contract/field-limits';
import { isSameResource, parseScope, spellingsOf } from '@latchkey/contract/scope-names';
import type { IssuedToken } from '@latchkey/contract/tokens';
import type { CallingService, Context } from '../platform/context.ts';
import { mintHandle, subjectBytes } from '../platform/crypto/handle.ts';
import { hashedId } from '../platform/crypto/primitives.ts';
import { invalidScope, invalidTarget } from '../platform/errors.ts';
import { findResource, findScopes } from './scopes.ts';
import * as store from './store.ts';

/** As with sessions, the id is a hash of the secret in the token, which is not stored. */
const tokenIdOf = (secret: Uint8Array): string => hashedId('service token id', secret);

const unreachable = () =>
  invalidTarget('resource: must be a declared resource within the reach of this service');

/**
 * Issues an access token with which a service calls another one for itself. The token has the scope of one
 * resource within the service's reach, and ends with the service.
 * @throws {AuthError} `invalid_target`, also for a missing resource (RFC 8707 section 2); `invalid_scope`
 * unless the service of the resource declares each name; `rate_limited`
 * @see RFC 6749 section 4.4
 */
export async function issueServiceToken(
  ctx: Context,
  service: CallingService,
  requested: {
    readonly scope: string | undefined;
    readonly resource: string | undefined;
    readonly expiresInSeconds: number | undefined;
  },
): Promise<IssuedToken> {
  const { resource = '', expiresInSeconds = fieldLimits.runMaxSeconds } = requested;
  const isReachable = service.reach.some((reachable) => isSameResource(reachable, resource));
  const target = isReachable ? await findResource(ctx.db.read, resource) : undefined;
  if (!target) throw unreachable();
  const names = parseScope(requested.scope ?? '');
  if (!names) throw invalidScope(`scope: must be 1-${fieldLimits.scopes} scopes separated by spaces`);
  const declared = await findScopes(ctx.db.read, names);
  const foreign = names.find(
    (name) => !declared.some((one) => one.name === name && one.service_id === target.id),
  );
  if (foreign !== undefined)
    throw invalidScope(`scope: the service of this resource has not declared ${foreign}`);
  const scope = names.join(' ');
  await ctx.limiter.take({ limit: 'service_tokens', subject: service.id });
  const secret = ctx.random(subjectBytes);
  const now = ctx.clock();
  const expiresAt = now + expiresInSeconds * 1000;
  const [stored] = await store.insertServiceToken(ctx.db.single, {
    id: tokenIdOf(secret),
    service_id: service.id,
    resource: spellingsOf(target.resource)[0],
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

/** An access token of a service that acts for itself. Times are milliseconds since 1970. */
export type ServiceToken = Awaited<ReturnType<typeof store.findServiceToken>>[number];

/** The token with this secret, if it and its service are active. */
export const findServiceToken = async (ctx: Context, secret: Uint8Array): Promise<ServiceToken | undefined> =>
  (await store.findServiceToken(ctx.db.read, { id: tokenIdOf(secret), now: ctx.clock() }))[0];

/** Ends the token with this secret, if there is one. */
export async function endServiceToken(ctx: Context, secret: Uint8Array): Promise<void> {
  await store.deleteServiceToken(ctx.db.single, { id: tokenIdOf(secret) });
}
