import type { Caller, Context } from '../platform/context.ts';
import { type ReadHandle, readHandle } from '../platform/crypto/handle.ts';
import { AuthError, bearerChallenge, invalidCredential } from '../platform/errors.ts';
import { recordUse } from './last-use.ts';
import { loggedStatus, sessionStatus } from './session-status.ts';
import * as store from './store.ts';
import { sessionCookieOf, sessionIdOf } from './tokens.ts';

export interface Credential {
  readonly type: 'bearer' | 'cookie';
  readonly value: string;
}

/** The error for a request without any credential. @see RFC 6750 section 3 */
export const missingCredential = (): AuthError =>
  new AuthError('invalid_token', 'This endpoint requires an access token.', {
    detail: 'no_credential',
    headers: { 'WWW-Authenticate': bearerChallenge },
  });

/** Built once, so that a flood of malformed credentials costs as little as possible. */
const malformedCredential = invalidCredential('malformed');

/**
 * The caller behind an access token or session cookie. A malformed credential is refused without a query. Every call
 * reads the session, so a revocation takes effect as soon as it is committed.
 * @throws {AuthError} `invalid_token`
 */
export function authenticate(ctx: Context, credential: Credential): Promise<Caller> {
  const kind = credential.type === 'cookie' ? 'browserSession' : 'accessToken';
  const handle = readHandle(ctx.keys, kind, credential.value);
  // Thrown synchronously: a malformed credential costs no promise.
  if (!handle) throw malformedCredential;
  return identifyCaller(ctx, credential.type, handle);
}

async function identifyCaller(ctx: Context, type: Credential['type'], handle: ReadHandle): Promise<Caller> {
  const isCookie = type === 'cookie';
  const now = ctx.clock();
  if (!isCookie && handle.value <= now) throw invalidCredential('expired');
  const id = sessionIdOf(handle.subject);
  const [session] = await store.findSessionStatus(ctx.db.read, { id });
  if (!session) throw invalidCredential('unknown');
  // The idle timeout ends cookies and refresh tokens. An access token stays valid until its own expiry.
  const endsAt = isCookie ? session.idle_expires_at : session.expires_at;
  const status = sessionStatus(session, now, endsAt);
  if (status !== 'active') throw invalidCredential(loggedStatus(status));

  const isExtended = recordUse(ctx, { id, last_used_at: session.last_used_at }, now, isCookie);
  const needsNewCookie = isCookie && (isExtended || handle.key !== ctx.keys.signing);
  return {
    sessionId: id,
    userId: session.user_id,
    kind: session.kind,
    authenticatedAt: session.created_at,
    credential: type,
    renewedCookie: needsNewCookie ? sessionCookieOf(ctx, handle.subject) : undefined,
  };
}
