import type { TokenSet } from '@latchkey/contract/tokens';
import type { Context } from '../platform/context.ts';
import { mintHandle, subjectBytes } from '../platform/crypto/handle.ts';
import { sha256 } from '../platform/crypto/hash.ts';

/**
 * The id of a session, which is a hash of the secret that its tokens carry: whoever reads the store, even with
 * the server's keys in hand, cannot make a token from it.
 */
export const sessionIdOf = (secret: Uint8Array): string =>
  `ses_${sha256('session id', secret).subarray(0, subjectBytes).toString('base64url')}`;

/** The state of a session that its current tokens are a function of. */
export interface Rotation {
  readonly generation: number;
  readonly rotated_at: number;
  readonly expires_at: number;
}

/** The tokens of a session as it stands; the same state gives the same tokens. */
export function tokenSetOf(ctx: Context, secret: Buffer, rotation: Rotation): TokenSet {
  const ends = Math.min(rotation.rotated_at + ctx.config.accessTokenTtlSeconds * 1000, rotation.expires_at);
  return {
    access_token: mintHandle(ctx.keys, 'accessToken', { subject: secret, value: ends }),
    token_type: 'Bearer',
    expires_in: Math.max(0, Math.ceil((ends - ctx.clock()) / 1000)),
    refresh_token: mintHandle(ctx.keys, 'refreshToken', { subject: secret, value: rotation.generation }),
  };
}

/** The cookie of a browser session: a handle without an end of its own; the session's end decides. */
export const sessionCookieOf = (ctx: Context, secret: Buffer): string =>
  mintHandle(ctx.keys, 'browserSession', { subject: secret, value: 0 });
