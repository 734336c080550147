import type { AuthorizationDetails } from '@latchkey/contract/authorization-details';
import { fieldLimits } from '@latchkey/contract/field-limits';
import { trustError } from '@latchkey/contract/key-trust';
import type { CreatedKey, Key, KeyTrust, NewKey } from '@latchkey/contract/keys';
import { everything } from '@latchkey/contract/scopes';
import type { Context, Requester } from '../../platform/context.ts';
import { type PageRequest, paginate, placeOf } from '../../platform/database/pagination.ts';
import { conflict, invalidRequest } from '../../platform/errors.ts';
import { checkAuthorizationDetails, holdAccess, resolveAccess } from '../../services/scopes/scopes.ts';
import { lockAccountAs } from '../sessions.ts';
import { startKey } from './starting.ts';
import * as store from './store.ts';

/**
 * Creates a key for the caller's account. The result is the only time the key is shown.
 * @throws {AuthError} `invalid_request` for an issuer or claims that no key can trust; `invalid_scope`, `invalid_target`, `invalid_authorization_details`; `conflict` when the account has
 * too many
 */
export async function createKey(
  ctx: Context,
  by: Requester,
  { name, expires_in, trust, ...requested }: NewKey,
): Promise<CreatedKey> {
  const { caller } = by;
  if (trust) requireTrustworthy(ctx, trust);
  const details =
    requested.authorization_details === undefined
      ? undefined
      : checkAuthorizationDetails(requested.authorization_details);
  const { scope, resource } = await resolveAccess(ctx, requested);
  return ctx.db.transaction(async (tx) => {
    await lockAccountAs(ctx, tx, caller);
    await holdAccess(tx, { scope, resource });
    const [active] = await store.countKeys(tx, { user_id: caller.userId, now: ctx.clock() });
    if (!active || active.keys >= fieldLimits.keys) throw tooManyKeys();
    const access = { scope: scope ?? everything, resource };
    const { id, key, createdAt, expiresAt } = await startKey(ctx, tx, by, {
      ...access,
      name,
      authorizationDetails: details === undefined ? null : JSON.stringify(details),
      trust: trust ?? null,
      expiresInSeconds: expires_in,
    });
    return {
      id,
      ...(key === undefined ? {} : { key }),
      name,
      ...access,
      ...(details === undefined ? {} : { authorization_details: details }),
      ...(trust ? { trust } : {}),
      created_at: new Date(createdAt).toISOString(),
      expires_at: new Date(expiresAt).toISOString(),
      last_used_at: null,
    };
  });
}

/**
 * Requires an issuer that the operator lists, and claims that identify a job.
 * @throws {AuthError} `invalid_request`
 */
function requireTrustworthy({ config }: Context, trust: KeyTrust): void {
  if (!config.trustedIssuers.includes(trust.issuer))
    throw invalidRequest('trust.issuer: is not an issuer that this service trusts');
  const error = trustError(trust);
  if (error !== undefined) throw invalidRequest(`trust.claims: ${error}`);
}

const tooManyKeys = () => conflict(`An account can have at most ${fieldLimits.keys} keys. Remove one first.`);

/** One page of the user's active keys, newest first. */
export async function listKeys(
  ctx: Context,
  owner: { readonly userId: string },
  page: PageRequest,
): Promise<{ keys: Key[]; next_cursor: string | null }> {
  const rows = await store.listKeys(ctx.db.read, {
    user_id: owner.userId,
    now: ctx.clock(),
    ...placeOf(page, { time: Number.MAX_SAFE_INTEGER, id: 'key_' }),
  });
  const { entries, next_cursor } = paginate(rows, page.limit, ({ created_at: time, id }) => ({ time, id }));
  return { keys: entries.map(keyOf), next_cursor };
}

const keyOf = (row: Awaited<ReturnType<typeof store.listKeys>>[number]): Key => ({
  id: row.id,
  name: row.client_name ?? '',
  scope: row.scope ?? everything,
  resource: row.resource,
  ...(row.authorization_details === null
    ? {}
    : { authorization_details: JSON.parse(row.authorization_details) as AuthorizationDetails }),
  ...(row.trust === null ? {} : { trust: JSON.parse(row.trust) as KeyTrust }),
  created_at: new Date(row.created_at).toISOString(),
  expires_at: new Date(row.expires_at).toISOString(),
  last_used_at: row.last_used_at === 0 ? null : new Date(row.last_used_at).toISOString(),
});
