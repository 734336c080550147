import type { Userinfo } from '@latchkey/contract/openid';
import { findUserWithOrganizations, organizationClaims } from '../../identity/organizations/organizations.ts';
import type { CallerAccount, Context } from '../../platform/context.ts';
import { inSeconds } from '../../platform/timers.ts';
import { includesAny } from '../../platform/values/scope.ts';

/** Claims without a value are left out. @see OpenID Connect Core section 5.3.2 */
const withoutEmpty = <Claims extends object>(claims: Claims) =>
  Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== null && value !== '')) as {
    [Name in keyof Claims]?: NonNullable<Claims[Name]>;
  };

/** What a scope tells about its user. */
export async function claimsOf(ctx: Context, scope: string, account: CallerAccount): Promise<Userinfo> {
  const includes = (name: string) => includesAny(scope, [name]);
  const user = includes('organizations')
    ? await findUserWithOrganizations(ctx.db.read, account.id)
    : undefined;
  const profile = {
    name: account.name,
    picture: account.avatar_url,
    locale: account.locale,
    zoneinfo: account.time_zone,
    updated_at: inSeconds(account.updated_at),
  };
  return {
    sub: account.id,
    ...(includes('profile') ? withoutEmpty(profile) : {}),
    ...(includes('email') ? { email: account.email, email_verified: account.email_verified === 1 } : {}),
    ...(user ? organizationClaims(user) : {}),
  };
}
