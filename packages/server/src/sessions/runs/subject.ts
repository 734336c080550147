import { everything } from '@latchkey/contract/scopes';
import type { Context } from '../../platform/context.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { AuthError } from '../../platform/errors.ts';
import { authenticate } from '../authentication.ts';
import { parseTrust } from '../keys/keys.ts';
import { recordUse } from '../last-use.ts';
import { sessionStatus } from '../status.ts';
import * as store from '../store.ts';
import { readToken } from '../tokens.ts';

type StoredSession = Awaited<ReturnType<typeof store.findSession>>[number];

/** The session or key that a run is created from, and its credential. */
export interface RunSubject {
  readonly session: StoredSession;
  /** What it allows: scope names separated by spaces, or `*` for everything. */
  readonly scope: string;
  /** When the access token or key expires, in milliseconds since 1970. A cookie lasts as long as its session. */
  readonly tokenEndsAt: number;
  /** The new value of a session cookie that is due for renewal. */
  readonly renewedCookie: string | undefined;
  /** The issuer's token, used in place of the key. */
  readonly assertion?: Assertion;
}

/** A verified token of an issuer that a key trusts. */
export interface Assertion {
  readonly issuer: string;
  /** The subject that the issuer issued it to. */
  readonly subject: string | undefined;
}

/** Finds the session of an access token, key or session cookie; undefined unless it would be accepted now. */
export async function findRunSubject(
  ctx: Context,
  { type, value }: { readonly type: 'bearer' | 'cookie'; readonly value: string },
): Promise<RunSubject | undefined> {
  return type === 'cookie' ? findByCookie(ctx, value) : findByToken(ctx, value);
}

async function findByToken(ctx: Context, token: string): Promise<RunSubject | undefined> {
  const read = readToken(ctx, token);
  if (!read || read.use === 'refresh_token') return undefined;
  const session = await findActive(ctx, ctx.db.read, read.sessionId);
  if (!session) return undefined;
  await recordUse(ctx, session, ctx.clock());
  return subjectOf(session, read.handle.value);
}

/** The active key with this id that tokens of an issuer stand for. Nothing has been proved yet. */
export async function findTrustingKey(ctx: Context, id: string) {
  const session = await findActive(ctx, ctx.db.read, id);
  if (!session || session.trust === null) return undefined;
  return { subject: subjectOf(session, session.expires_at), trust: parseTrust(session.trust) };
}

async function findByCookie(ctx: Context, value: string): Promise<RunSubject | undefined> {
  const caller = await authenticate(ctx, { type: 'cookie', value }).catch((error: unknown) => {
    if (error instanceof AuthError && error.code === 'invalid_token') return undefined;
    throw error;
  });
  const session = caller && (await findActive(ctx, ctx.db.read, caller.sessionId));
  if (!session) return undefined;
  return subjectOf(session, session.idle_expires_at, caller.renewedCookie);
}

const subjectOf = (session: StoredSession, tokenEndsAt: number, renewedCookie?: string): RunSubject => ({
  session,
  scope: session.scope ?? everything,
  tokenEndsAt,
  renewedCookie,
});

/** The subject token is not good, or its session has ended since. */
export const subjectEnded = () =>
  new AuthError('invalid_request', 'subject_token: is not valid', { detail: 'ended' });

/** A session or key that a run can be within: its idle timeout ends it too, although access tokens outlive that. */
export async function findActive(ctx: Context, on: Executor, id: string): Promise<StoredSession | undefined> {
  const [session] = await store.findSession(on, { id });
  return session && sessionStatus(session, ctx.clock()) === 'active' ? session : undefined;
}
