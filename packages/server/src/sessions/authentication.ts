import { everything } from '@latchkey/contract/scope-names';
import type { Caller, Context } from '../platform/context.ts';
import { type HandleKind, handlePrefix, type ReadHandle, readHandle } from '../platform/crypto/handle.ts';
import type { Tables } from '../platform/database/schema.ts';
import { AuthError, bearerChallenge, insufficientScope, invalidCredential } from '../platform/errors.ts';
import { findServiceToken } from '../services/service-tokens.ts';
import { sessionStatus } from './status.ts';
import * as store from './store.ts';
import { sessionCookieOf, sessionIdOf } from './tokens.ts';

const tokenOrForm =
  'This endpoint requires an access token, or a form (Content-Type: application/x-www-form-urlencoded).';

/** The error for a request without any credential. @see RFC 6750 section 3 */
export const missingCredential = (takesForm: boolean): AuthError =>
  new AuthError('invalid_token', takesForm ? tokenOrForm : 'This endpoint requires an access token.', {
    detail: 'no_credential',
    headers: { 'WWW-Authenticate': bearerChallenge },
  });

const malformedCredential = invalidCredential('malformed');

const kindOf = (type: Caller['credential'], value: string): HandleKind => {
  if (type === 'cookie') return 'browserSession';
  return value.startsWith(handlePrefix.accessKey) ? 'accessKey' : 'accessToken';
};

/** A token of a service that acts for itself is valid, but there is nothing here that it allows. */
const refusalOf = async (ctx: Context, { subject }: ReadHandle): Promise<AuthError> =>
  (await findServiceToken(ctx, subject)) ? insufficientScope(everything) : invalidCredential('unknown');

/**
 * The caller with this access token, key or session cookie. Forged ones cost no query. Every call reads
 * session and account, so a revocation takes effect as soon as it is committed.
 * @throws {AuthError} `invalid_token`; `insufficient_scope` for a service that acts for itself
 */
export function authenticate(
  ctx: Context,
  { type, value }: { readonly type: Caller['credential']; readonly value: string },
): Promise<Caller> {
  const kind = kindOf(type, value);
  const handle = readHandle(ctx.keys, kind, value);
  // Rejects rather than throws: some callers handle only the promise.
  if (!handle) return Promise.reject(malformedCredential);
  return lookUpCaller(ctx, type, kind, handle);
}

async function lookUpCaller(ctx: Context, type: Caller['credential'], kind: HandleKind, handle: ReadHandle) {
  const isCookie = type === 'cookie';
  const now = ctx.clock();
  if (!isCookie && handle.value <= now) throw invalidCredential('expired');
  const id = sessionIdOf(handle.subject, kind === 'accessKey' ? 'key_' : 'ses_');
  const [session] = await store.findCaller(ctx.db.read, { id });
  if (!session) throw await refusalOf(ctx, handle);
  // The idle timeout ends cookies and refresh tokens. An access token or key
  // stays valid until its own expiry.
  const endsAt = isCookie ? session.idle_expires_at : session.expires_at;
  const status = sessionStatus(session, now, endsAt);
  if (status !== 'active') throw invalidCredential(status);

  const used = { id, kind: session.kind, last_used_at: session.last_used_at };
  const isExtended = await recordUse(ctx, used, now, isCookie);
  const needsNewCookie = isCookie && (isExtended || handle.key !== ctx.keys.signing);
  return {
    sessionId: id,
    userId: session.user_id,
    account: session,
    kind: session.kind,
    scope: session.scope ?? everything,
    resource: session.resource,
    authenticatedAt: session.started_at,
    credential: type,
    renewedCookie: needsNewCookie ? sessionCookieOf(ctx, handle.subject) : undefined,
  };
}

const maxWriteIntervalMs = 5 * 60 * 1000;

/** The columns of a session that decide whether a use of it is recorded. A key that was never used has 0. */
type LastUse = Pick<Tables['sessions'], 'id' | 'kind' | 'last_used_at'>;

/** The shortest interval between two writes of a last use. Keys have no idle timeout that shortens it. */
const writeIntervalMs = (ctx: Context, { kind }: LastUse): number =>
  kind === 'key' ? maxWriteIntervalMs : Math.min(maxWriteIntervalMs, ctx.config.refreshIdleTtlSeconds * 100);

/**
 * Records that a session is in use, at most once per interval; returns whether it was due. Only the first use
 * of a key is awaited, so that it is recorded before the response. Losing another use does no harm.
 */
export async function recordUse(
  ctx: Context,
  session: Readonly<LastUse>,
  now: number,
  extendsIdleTimeout = false,
): Promise<boolean> {
  const intervalMs = writeIntervalMs(ctx, session);
  if (now - session.last_used_at < intervalMs) return false;
  const written = store
    .touchSession(ctx.db.single, {
      id: session.id,
      now,
      unless_since: now - intervalMs + 1,
      idle_expires_at: extendsIdleTimeout ? now + ctx.config.refreshIdleTtlSeconds * 1000 : 0,
    })
    .catch(() => ctx.log.warn('the last use of a session could not be recorded'));
  if (session.last_used_at === 0) await written;
  return true;
}
