import type { TokenSet } from '@latchkey/contract/tokens';
import type { Context } from '../platform/context.ts';
import { mintHandle, type ReadHandle, readHandle, subjectBytes } from '../platform/crypto/handle.ts';
import { sha256 } from '../platform/crypto/hash.ts';

/**
 * The id of a session: a hash of the secret that its tokens carry. Neither the database nor the server's keys are
 * enough to forge a token, because the secret is not stored.
 */
export const sessionIdOf = (secret: Uint8Array): string =>
  `ses_${sha256('session id', secret).subarray(0, subjectBytes).toString('base64url')}`;

/** The columns of a session that its current tokens are derived from. */
export interface Rotation {
  readonly generation: number;
  readonly rotated_at: number;
  readonly expires_at: number;
}

/** The current tokens of a session. The same rotation always yields the same tokens. */
export function tokenSetOf(ctx: Context, secret: Buffer, rotation: Rotation): TokenSet {
  const expiresAt = Math.min(
    rotation.rotated_at + ctx.config.accessTokenTtlSeconds * 1000,
    rotation.expires_at,
  );
  return {
    access_token: mintHandle(ctx.keys, 'accessToken', { subject: secret, value: expiresAt }),
    token_type: 'Bearer',
    expires_in: Math.max(0, Math.ceil((expiresAt - ctx.clock()) / 1000)),
    refresh_token: mintHandle(ctx.keys, 'refreshToken', { subject: secret, value: rotation.generation }),
  };
}

/** The cookie of a browser session. It has no expiry of its own; the session decides. */
export const sessionCookieOf = (ctx: Context, secret: Buffer): string =>
  mintHandle(ctx.keys, 'browserSession', { subject: secret, value: 0 });

/** An access token with the time it expires, or a refresh token with its generation. */
export interface ReadToken {
  readonly use: 'access_token' | 'refresh_token';
  readonly handle: ReadHandle;
}

/** Reads a token of either kind without a query; undefined if it is malformed or an expired access token. */
export function readToken(ctx: Context, token: string): ReadToken | undefined {
  const refresh = readHandle(ctx.keys, 'refreshToken', token);
  if (refresh) return { use: 'refresh_token', handle: refresh };
  const access = readHandle(ctx.keys, 'accessToken', token);
  if (!access || access.value <= ctx.clock()) return undefined;
  return { use: 'access_token', handle: access };
}
