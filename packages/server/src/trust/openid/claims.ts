import type { Userinfo } from '@latchkey/contract/openid';
import type { UserWithOrganizations } from '../../identity/organizations/organizations.ts';
import type { CallerAccount } from '../../platform/context.ts';
import { includesAny } from '../../platform/values/scope.ts';

/** Claims without a value are left out. @see OpenID Connect Core section 5.3.2 */
const withoutEmpty = <Claims extends object>(claims: Claims) =>
  Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== null && value !== '')) as {
    [Name in keyof Claims]?: NonNullable<Claims[Name]>;
  };

type Profile = Pick<
  CallerAccount,
  'id' | 'name' | 'avatar_url' | 'locale' | 'time_zone' | 'updated_at' | 'email' | 'email_verified'
>;

/** Whether the claims of a scope include the organizations. */
export const namesOrganizations = (scope: string): boolean => includesAny(scope, ['organizations']);

/** What a scope tells about its user. `memberships` is needed only if it includes the organizations. */
export function claimsOf(
  scope: string,
  account: Profile,
  memberships: Pick<UserWithOrganizations, 'organizations' | 'isTruncated'> | undefined,
): Userinfo {
  const profile = {
    name: account.name,
    picture: account.avatar_url,
    locale: account.locale,
    zoneinfo: account.time_zone,
    updated_at: Math.floor(account.updated_at / 1000),
  };
  return {
    sub: account.id,
    ...(includesAny(scope, ['profile']) ? withoutEmpty(profile) : {}),
    ...(includesAny(scope, ['email'])
      ? { email: account.email, email_verified: account.email_verified === 1 }
      : {}),
    ...(memberships && namesOrganizations(scope) ? { organizations: memberships.organizations } : {}),
    ...(memberships?.isTruncated && namesOrganizations(scope)
      ? { organizations_truncated: true as const }
      : {}),
  };
}
