import { createHash } from 'node:crypto';
import { compactVerify, importJWK } from 'jose';
import { findAccount } from '../../identity/account/account.ts';
import type { Context } from '../../platform/context.ts';
import { inSeconds } from '../../platform/timers.ts';
import { authenticationClaims } from '../../sessions/active-tokens.ts';
import { type AddIdentityToken, findAppSession } from '../../sessions/sessions.ts';
import { identityAlgorithm, type SigningKeys } from '../signing-keys/signing-keys.ts';
import { claimsOf } from './claims.ts';

const identityTtlSeconds = 300;

/** How long the response to a code can be repeated: for so long, the identity token stays the same. */
const repeatWindowMs = 60_000;

/** The left half of the hash of the access token. @see OpenID Connect Core section 3.1.3.6 */
const accessTokenHash = (token: string): string =>
  createHash('sha256').update(token).digest().subarray(0, 16).toString('base64url');

/** Adds the identity token of an application's session to its tokens, if their scope names openid. @see OpenID Connect Core section 2 */
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

/**
 * Reads an identity token, expired or not; undefined unless this service signed it for an application, under a key that is
 * still published.
 */
export async function readIdentityToken(ctx: Context, keys: SigningKeys, token: string) {
  const published = await keys.published();
  try {
    const { payload } = await compactVerify(
      token,
      async ({ kid }) => {
        const key = published.find((one) => one.kid === kid && one.alg === identityAlgorithm);
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
