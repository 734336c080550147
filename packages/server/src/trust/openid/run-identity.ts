// Identity tokens of runs, for other systems that trust this service as an OpenID Connect issuer.

import type { RunIdentity } from '@latchkey/contract/openid';
import type { Caller, Context } from '../../platform/context.ts';
import { insufficientScope, invalidTarget } from '../../platform/errors.ts';
import { inSeconds } from '../../platform/timers.ts';
import { serviceOf } from '../../services/scopes.ts';
import { actorOf, findRun } from '../../sessions/active-tokens.ts';
import { identityAlgorithm, type SigningKeys } from '../signing-keys/signing-keys.ts';

const runIdentityTtlSeconds = 900;

/**
 * Issues an identity token of the caller's run. Its subject is not a user id, so that it cannot be mistaken for a user who signed in.
 * @throws {AuthError} `insufficient_scope` unless the caller is a run; `invalid_target` for an audience that the operator does not list, or
 * that is a service
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
