import { fieldLimits } from '@latchkey/contract/field-limits';
import type { IssuedToken } from '@latchkey/contract/tokens';
import { lockAccountRow } from '../../accounts/locks.ts';
import type { Context } from '../../platform/context.ts';
import { subjectBytes } from '../../platform/crypto/handle.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { AuthError, conflict } from '../../platform/errors.ts';
import type { ClientInfo } from '../../platform/values/client-info.ts';
import { holdAccess } from '../../services/scopes/scopes.ts';
import { recordEnd, recordRun } from '../ending.ts';
import { recordUsedKey } from '../keys/keys.ts';
import { recordUse } from '../last-use.ts';
import * as sessions from '../store.ts';
import { runTokensOf, sessionIdOf } from '../tokens.ts';
import * as store from './store.ts';
import { findActive, type RunSubject } from './subject.ts';

/** A run to be made. */
export interface NewRun {
  readonly subject: RunSubject;
  readonly client: ClientInfo;
  readonly scope: string;
  readonly resource: string | null;
  /** A JSON array, if any. @see RFC 9396 section 2 */
  readonly authorizationDetails: string | null;
  /** The requested lifetime of its access tokens. */
  readonly tokenTtlSeconds: number;
  /** The service that makes the run and acts in it. Without one, the holder of the token narrows it for itself. */
  readonly service: { readonly id: string; readonly name: string } | undefined;
  /** The run takes the place of the run of the subject token, which ends. */
  readonly isReplacement: boolean;
}

/** The session or key that the new run is directly within, and the earliest end of everything on its path, as known now. */
type Place = Awaited<ReturnType<typeof findPlace>>;

/** The subject token was revoked or its session ended while the run was being made. */
const subjectEnded = () =>
  new AuthError('invalid_request', 'subject_token: is not valid', { detail: 'ended' });

/**
 * Where the run goes, read again under the account's lock, since the session may have ended or its run may have moved to
 * another sign-in. If the run takes the place of another one, that ends here.
 * @throws {AuthError} `invalid_request` if the subject has ended; `conflict` if the run would be too deep
 */
async function findPlace(ctx: Context, tx: Executor, { subject, isReplacement }: NewRun) {
  const session = await findActive(ctx, tx, subject.session.id);
  if (!session) throw subjectEnded();
  const parentId = isReplacement ? session.within_session_id : null;
  const parent = parentId === null ? session : await findActive(ctx, tx, parentId);
  if (!parent) throw subjectEnded();
  const path = parent.path === null ? [parent.id] : (JSON.parse(parent.path) as string[]);
  if (path.length > fieldLimits.runDepth) {
    throw conflict(`A run can be within at most ${fieldLimits.runDepth} others.`);
  }
  return {
    parent,
    path,
    endsAt: Math.min(parent.idle_expires_at, parent.path_ends_at ?? Number.POSITIVE_INFINITY),
  };
}

/** @throws {AuthError} `conflict` when there are too many runs. The account must be locked. */
async function requireRoom(ctx: Context, tx: Executor, { parent, path }: Place): Promise<void> {
  const now = ctx.clock();
  const root_session_id = rootOf(path);
  const [counted] = await store.countRuns(tx, { within_session_id: parent.id, root_session_id, now });
  if (counted?.within != null && counted.within >= fieldLimits.runsWithin)
    throw tooManyRuns(fieldLimits.runsWithin, 'directly within this token');
  if (counted?.below == null || counted.below < fieldLimits.runsBelow) return;
  const [exact] = await store.countActiveRunsBelow(tx, { root_session_id, now });
  if (exact && exact.below >= fieldLimits.runsBelow)
    throw tooManyRuns(fieldLimits.runsBelow, 'below this sign-in or key');
}

const tooManyRuns = (max: number, where: string) =>
  conflict(`There are already ${max} active runs ${where}. End some of them first.`);

const rootOf = (path: readonly string[]): string => path.at(-1)!;

/**
 * A run never outlasts its ancestors. Without a service it has a single token, which does not outlast the one it was
 * made of, and ends with it. Times are milliseconds since 1970.
 */
function lifetimeOf(ctx: Context, run: NewRun, { parent, endsAt }: Place, now: number) {
  const expiresAt = Math.min(now + ctx.config.runTtlSeconds * 1000, parent.expires_at);
  const requested = Math.min(now + run.tokenTtlSeconds * 1000, expiresAt, endsAt);
  if (!run.service) {
    const tokenEndsAt = Math.min(requested, run.subject.tokenEndsAt);
    return { tokenEndsAt, idleExpiresAt: tokenEndsAt, expiresAt: tokenEndsAt };
  }
  const idle = Math.max(now + ctx.config.runIdleTtlSeconds * 1000, requested);
  return { tokenEndsAt: requested, idleExpiresAt: Math.min(idle, expiresAt), expiresAt };
}

/**
 * Makes the run, with the secret that its tokens are derived from.
 * @throws {AuthError} `invalid_request` if anything that the run is within has ended
 */
async function insertRun(ctx: Context, tx: Executor, run: NewRun, place: Place) {
  const { service, client } = run;
  const { parent } = place;
  const now = ctx.clock();
  const secret = ctx.random(subjectBytes);
  const id = sessionIdOf(secret);
  const { tokenEndsAt, idleExpiresAt, expiresAt } = lifetimeOf(ctx, run, place, now);
  const logged = {
    id,
    within_session_id: parent.id,
    // Without a service of its own, it stays acted in by the one that acts in its parent.
    service_id: service?.id ?? parent.service_id,
    client_name: service?.name ?? (parent.kind === 'run' ? parent.client_name : null),
  };
  const [row] = await store.insertRun(tx, {
    ...logged,
    path: JSON.stringify([id, ...place.path]),
    root_session_id: rootOf(place.path),
    actor: service ? [service.id, ...(parent.actor?.split(' ') ?? [])].join(' ') : parent.actor,
    token_ttl_seconds: service ? run.tokenTtlSeconds : null,
    scope: run.scope,
    resource: run.resource,
    authorization_details: run.authorizationDetails,
    ip_address: client.ipAddress,
    user_agent: client.userAgent,
    now,
    idle_expires_at: idleExpiresAt,
    expires_at: expiresAt,
  });
  if (!row) throw subjectEnded();
  return { ...logged, secret, tokenEndsAt };
}

/** Ends the run whose place the new one takes, so that it makes room and cannot be replaced twice. */
async function endReplacedRun(ctx: Context, tx: Executor, { subject, client }: NewRun): Promise<void> {
  const { id, user_id: userId } = subject.session;
  const ending = { id, user_id: userId, distrusted_as: null, now: ctx.clock() };
  const [ended] = await sessions.endSession(tx, ending);
  if (!ended) throw subjectEnded();
  await recordEnd(ctx, tx, { userId, client }, ended, { reason: 'replaced' });
}

/**
 * Makes a run within the session or key of its subject, or in place of it, and records it. Races with every way of ending
 * one of those are decided by the insertion, which holds only while all of them are active.
 * @throws {AuthError} `invalid_request` if one of them has ended; `invalid_scope`, `invalid_target` if a service has
 * withdrawn what the run would hold; `conflict` if there are too many runs, or it is too deep
 */
export async function startRun(
  ctx: Context,
  run: NewRun,
): Promise<Pick<IssuedToken, 'access_token' | 'expires_in' | 'refresh_token'>> {
  const { session, assertion } = run.subject;
  // Other credentials record their use when they are read.
  if (assertion) await recordUse(ctx, session, ctx.clock());
  return ctx.db.transaction(async (tx) => {
    const { user_id: userId } = session;
    const { service, client, scope, resource } = run;
    await lockAccountRow(tx, { id: userId });
    const place = await findPlace(ctx, tx, run);
    await holdAccess(tx, { scope, resource });
    if (run.isReplacement) await endReplacedRun(ctx, tx, run);
    await requireRoom(ctx, tx, place);
    const inserted = await insertRun(ctx, tx, run, place);
    await recordRun(ctx, tx, 'run_started', { userId, client }, { ...inserted, scope, resource }, {});
    if (assertion) await recordUsedKey(ctx, tx, { userId, client }, session, assertion);
    return runTokensOf(ctx, inserted, service !== undefined);
  });
}
