import { createHash } from 'node:crypto';
import type { RunIdentity, Userinfo } from '@latchkey/contract/openid';
import { includesAny } from '@latchkey/contract/scope-names';
import { compactVerify, importJWK } from 'jose';
import { findAccount } from '../../identity/account/account.ts';
import { findUserWithOrganizations, organizationClaims } from '../../identity/organizations/organizations.ts';
import type { Caller, CallerAccount, Context } from '../../platform/context.ts';
import { insufficientScope, invalidTarget } from '../../platform/errors.ts';
import { inSeconds } from '../../platform/timers.ts';
import { serviceOf } from '../../services/scopes.ts';
import { actorOf, authenticationClaims, findRun } from '../../sessions/active-tokens.ts';
import { type AddIdentityToken, findAppSession } from '../../sessions/sessions.ts';
import { identityAlgorithm, type SigningKeys } from '../signing-keys/signing-keys.ts';

const identityTtlSeconds = 300;

/** How long the response to a code can be repeated: for so long, the identity token stays the same. */
const repeatWindowMs = 60_000;

/** The left half of the hash of the access token. @see OpenID Connect Core section 3.1.3.6 */
const accessTokenHash = (token: string): string =>
  createHash('sha256').update(token).digest().subarray(0, 16).toString('base64url');

/** Adds the identity token of a session whose scope names openid. @see OpenID Connect Core section 2 */
export const identityTokens =
  (ctx: Context, keys: SigningKeys): AddIdentityToken =>
  async (sessionId, tokens, nonce) => {
    if (!tokens.scope?.split(' ').includes('openid')) return tokens;
    const session = await findAppSession(ctx, sessionId);
    const account = session && (await findAccount(ctx.db.read, session.userId));
    if (!account) return tokens;
    const now = ctx.clock();
    const issuedAt = now - session.rotatedAt <= repeatWindowMs ? session.rotatedAt : now;
    const id_token = await keys.sign(
      'JWT',
      {
        ...(await claimsOf(ctx, session.scope, account)),
        iss: ctx.config.baseUrl,
        aud: session.clientId,
        iat: inSeconds(issuedAt),
        exp: inSeconds(issuedAt) + identityTtlSeconds,
        ...(session.authentication ? authenticationClaims(session.authentication) : {}),
        sid: sessionId,
        ...(nonce === null ? {} : { nonce }),
        at_hash: accessTokenHash(tokens.access_token),
      },
      identityAlgorithm,
    );
    return { ...tokens, id_token };
  };

/** Reads an identity token, expired or not; undefined unless a stored key signed it for an application. */
export async function readIdentityToken(ctx: Context, keys: SigningKeys, token: string) {
  const known = await keys.identity();
  try {
    const { payload } = await compactVerify(
      token,
      async ({ kid }) => {
        const key = known.find((one) => one.kid === kid);
        if (!key) throw new Error('no such key');
        return importJWK(key, identityAlgorithm);
      },
      { algorithms: [identityAlgorithm] },
    );
    const claims = JSON.parse(new TextDecoder().decode(payload)) as Readonly<Record<string, unknown>>;
    const { iss, sub, aud, sid } = claims;
    const isOurs = iss === ctx.config.baseUrl && typeof sub === 'string' && sub.startsWith('usr_');
    if (!isOurs || typeof aud !== 'string' || typeof sid !== 'string') return undefined;
    return { userId: sub, clientId: aud, sessionId: sid };
  } catch {
    return undefined;
  }
}

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

// Identity tokens of runs, for other systems that trust this service as an OpenID Connect issuer.

const runIdentityTtlSeconds = 900;

/**
 * Issues an identity token of the caller's run. Its subject is not a user id, so that it cannot be
 * mistaken for a user who signed in.
 * @throws {AuthError} `insufficient_scope` unless the caller is a run; `invalid_target` for an audience that
 * the operator does not list, or that is a service
 */
export async function issueRunIdentity(
  ctx: Context,
  keys: SigningKeys,
  { sessionId }: Pick<Caller, 'sessionId'>,
  audience: string,
): Promise<RunIdentity> {
  const run = await findRun(ctx, sessionId);
  if (!run) throw insufficientScope('identity');
  const isListed = ctx.config.identityAudiences.includes(audience);
  if (!isListed || (await serviceOf(ctx.db.read, audience)) !== null)
    throw invalidTarget('audience: identity tokens are not issued for it');
  const { userId, actors, scope, within } = run;
  const iat = inSeconds(ctx.clock());
  const exp = Math.min(iat + runIdentityTtlSeconds, inSeconds(run.endsAt));
  const id_token = await keys.sign(
    'JWT',
    {
      iss: ctx.config.baseUrl,
      sub: ['run', userId, ...actors.slice(0, 1)].join(':'),
      aud: audience,
      jti: ctx.random(16).toString('base64url'),
      iat,
      exp,
      ...(actors.length === 0 ? {} : { act: actorOf(actors) }),
      within: [...within],
      scope,
    },
    identityAlgorithm,
  );
  return { id_token, expires_in: exp - iat };
}
