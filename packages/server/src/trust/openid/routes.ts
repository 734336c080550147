import { endpoints } from '@latchkey/contract/endpoints';
import { findUserWithOrganizations } from '../../identity/organizations/organizations.ts';
import type { Caller, Context } from '../../platform/context.ts';
import { insufficientScope } from '../../platform/errors.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import type { SigningKeys } from '../signing-keys/signing-keys.ts';
import { claimsOf, namesOrganizations } from './claims.ts';
import { confirmSignOut } from './sign-out.ts';

export function openidRoutes(api: Api, ctx: Context, keys: SigningKeys): void {
  /** @throws {AuthError} `insufficient_scope`: everything does not include openid, which asks for an identity */
  const userinfo = async ({ caller: { account, scope } }: { readonly caller: Caller }) => {
    if (!scope.split(' ').includes('openid')) throw insufficientScope('openid');
    const memberships = namesOrganizations(scope)
      ? await findUserWithOrganizations(ctx.db.read, account.id)
      : undefined;
    return { body: claimsOf(scope, account, memberships) };
  };
  api.on(endpoints.getUserinfo, userinfo);
  api.on(endpoints.postUserinfo, userinfo);

  api.on(endpoints.confirmSignOut, async ({ body, caller, client }) => ({
    body: await confirmSignOut(ctx, keys, body, { caller, client }),
    cookie: 'clear',
  }));
}
