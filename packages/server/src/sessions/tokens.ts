import { everything } from '@latchkey/contract/scope-names';
import type { AuthorizationDetails } from '@latchkey/contract/scopes';
import type { IssuedToken, TokenSet } from '@latchkey/contract/tokens';
import type { Context } from '../platform/context.ts';
import { mintHandle, type ReadHandle, readHandle } from '../platform/crypto/handle.ts';
import { hashedId } from '../platform/crypto/primitives.ts';
import type { Tables } from '../platform/database/schema.ts';
import { expiresIn } from '../platform/timers.ts';
import type { rotationColumns } from './store.ts';

/** A hash of the secret in its tokens: neither database nor server keys are enough to forge one. */
export const sessionIdOf = (secret: Uint8Array, prefix: 'ses_' | 'key_' = 'ses_'): string =>
  prefix + hashedId('session id', secret);

/** Whether an id belongs to a key, not to a sign-in. */
export const isKeyId = (id: string): boolean => /^key_[\w-]{22}$/.test(id);

/**
 * The columns of a session that its current tokens are derived from. `token_ttl_seconds` is null for
 * sign-ins, where a setting says it. `scope` is null for everything; only the first tokens of a client
 * that asked for `*` by name have that.
 */
export type Rotation = Readonly<Pick<Tables['sessions'], (typeof rotationColumns)[number]>>;

/** Everything is stored as null. */
export const storedScope = (scope: string | null | undefined): string | null =>
  scope === undefined || scope === everything ? null : scope;

/** The current tokens of a session. The same rotation always yields the same tokens. */
export function tokenSetOf(ctx: Context, secret: Buffer, rotation: Rotation): TokenSet {
  const ttlSeconds = rotation.token_ttl_seconds ?? ctx.config.accessTokenTtlSeconds;
  const expiresAt = Math.min(rotation.rotated_at + ttlSeconds * 1000, rotation.expires_at);
  const details = parseDetails(rotation.authorization_details);
  const tokens: TokenSet = {
    access_token: mintHandle(ctx.keys, 'accessToken', { subject: secret, value: expiresAt }),
    token_type: 'Bearer',
    expires_in: expiresIn(expiresAt, ctx.clock()),
    refresh_token: mintHandle(ctx.keys, 'refreshToken', { subject: secret, value: rotation.generation }),
  };
  if (rotation.scope !== null) tokens.scope = rotation.scope;
  if (details !== null) tokens.authorization_details = details;
  return tokens;
}

/** What a session allows in detail, as its row stores it. */
export const parseDetails = (stored: string | null): AuthorizationDetails | null =>
  stored === null ? null : (JSON.parse(stored) as AuthorizationDetails);

/** A run's ancestors, nearest first, from the path in its row. */
export const withinOf = (path: string): string[] => (JSON.parse(path) as string[]).slice(1);

/** The first tokens of a run. Only one that a service made can be refreshed. */
export const runTokensOf = (
  ctx: Context,
  run: { readonly secret: Buffer; readonly tokenEndsAt: number },
  isRefreshable: boolean,
): Pick<IssuedToken, 'access_token' | 'expires_in' | 'refresh_token'> => ({
  access_token: mintHandle(ctx.keys, 'accessToken', { subject: run.secret, value: run.tokenEndsAt }),
  expires_in: expiresIn(run.tokenEndsAt, ctx.clock()),
  ...(isRefreshable
    ? { refresh_token: mintHandle(ctx.keys, 'refreshToken', { subject: run.secret, value: 1 }) }
    : {}),
});

/** The cookie of a browser session. It has no expiry of its own; the session decides. */
export const sessionCookieOf = (ctx: Context, secret: Buffer): string =>
  mintHandle(ctx.keys, 'browserSession', { subject: secret, value: 0 });

/** A key. It is shown once and never changes. */
export const keyOf = (ctx: Context, secret: Buffer, expiresAt: number): string =>
  mintHandle(ctx.keys, 'accessKey', { subject: secret, value: expiresAt });

/** An access token or key with the time it expires, or a refresh token with its generation. */
export interface ReadToken {
  readonly use: 'access_token' | 'refresh_token' | 'key';
  readonly handle: ReadHandle;
  readonly sessionId: string;
}

/** Reads a token without a query; undefined if it is malformed, or an expired access token or key. */
export function readToken(ctx: Context, token: string): ReadToken | undefined {
  const refresh = readHandle(ctx.keys, 'refreshToken', token);
  if (refresh) return { use: 'refresh_token', handle: refresh, sessionId: sessionIdOf(refresh.subject) };
  const access = readHandle(ctx.keys, 'accessToken', token);
  const handle = access ?? readHandle(ctx.keys, 'accessKey', token);
  if (!handle || handle.value <= ctx.clock()) return undefined;
  return access
    ? { use: 'access_token', handle, sessionId: sessionIdOf(handle.subject) }
    : { use: 'key', handle, sessionId: sessionIdOf(handle.subject, 'key_') };
}
