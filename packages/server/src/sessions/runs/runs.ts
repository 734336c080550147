import { fieldLimits } from '@latchkey/contract/field-limits';
import {
  everything,
  holdsEverything,
  isSameResource,
  isWithin,
  onlyByName,
} from '@latchkey/contract/scope-names';
import type { AuthorizationDetails } from '@latchkey/contract/scopes';
import { accessTokenType, type IssuedToken } from '@latchkey/contract/tokens';
import { lockAccountRow } from '../../accounts/locks.ts';
import type { CallingService, Context } from '../../platform/context.ts';
import { subjectBytes } from '../../platform/crypto/handle.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { AuthError, conflict, invalidScope, invalidTarget } from '../../platform/errors.ts';
import type { ClientInfo } from '../../platform/values/client-address.ts';
import { canonicalJson } from '../../platform/values/json.ts';
import { takeForUser } from '../../security-log/events/events.ts';
import { checkAuthorizationDetails, holdAccess, resolveAccess } from '../../services/scopes.ts';
import { authenticate, recordUse } from '../authentication.ts';
import { recordEnds, recordRun } from '../ending.ts';
import { parseTrust, recordUsedKey } from '../keys/keys.ts';
import { sessionStatus } from '../status.ts';
import * as sessions from '../store.ts';
import { isKeyId, parseDetails, readToken, runTokensOf, sessionIdOf } from '../tokens.ts';
import * as store from './store.ts';

export interface RequestedRun {
  /** The service that makes the run and acts in it. Without one, the token's holder narrows it for itself. */
  readonly service: CallingService | undefined;
  readonly scope: string | undefined;
  readonly resource: string | undefined;
  /** Parsed JSON, not yet validated. Undefined if not requested. */
  readonly authorizationDetails: unknown;
  readonly expiresInSeconds: number | undefined;
}

/**
 * Exchanges an access token, key or session cookie for the token of a run, which never allows more than that
 * credential. If a service makes the request, it acts in the run and can refresh it.
 * @throws {AuthError} `invalid_request`, `invalid_scope`, `invalid_target`,
 * `invalid_authorization_details`, `conflict`, `rate_limited`
 * @see RFC 8693 section 2
 */
export async function exchangeToken(
  ctx: Context,
  subject: RunSubject,
  requested: RequestedRun,
  client: ClientInfo,
): Promise<IssuedToken> {
  const { session } = subject;
  const { service, expiresInSeconds = fieldLimits.runDefaultSeconds } = requested;
  requireExchangeable(subject, service);
  const narrowed = narrowedScope(subject, requested.scope);
  const target = narrowedResource(subject, requested) ?? undefined;
  const details = narrowedDetails(subject, requested.authorizationDetails);
  // Inherited names are checked too: a service may have withdrawn them since.
  const { scope, resource } = await resolveAccess(ctx, { scope: narrowed, resource: target });
  if (scope === null) throw scopeMissing();

  const owner = { userId: session.user_id, sessionId: session.id, client };
  await takeForUser(ctx, owner, { limit: 'runs', subject: session.root_session_id ?? session.id });
  const tokens = await startRun(ctx, {
    subject,
    client,
    scope,
    resource,
    authorizationDetails: details,
    tokenTtlSeconds: expiresInSeconds,
    service,
    isReplacement: service !== undefined && isMeantFor(service, subject),
  });
  return {
    ...tokens,
    issued_token_type: accessTokenType,
    token_type: 'Bearer',
    scope,
    ...(details === null ? {} : { authorization_details: details }),
  };
}

/** Whether a page or program made this run without a service key, for this service to take its place. */
const isMeantFor = ({ resource }: CallingService, { session }: RunSubject): boolean =>
  session.kind === 'run' &&
  session.token_ttl_seconds === null &&
  session.resource !== null &&
  isSameResource(session.resource, resource);

/**
 * Requires that a service which exchanges a token bound to a resource is the service with that resource.
 * @throws {AuthError} `invalid_request`
 */
function requireExchangeable({ session }: RunSubject, service: CallingService | undefined): void {
  if (!service || session.resource === null || isSameResource(session.resource, service.resource)) return;
  throw new AuthError('invalid_request', 'subject_token: is for another service', {
    detail: 'another_service',
  });
}

const scopeMissing = () =>
  invalidScope('scope: is missing. A run needs one if its subject token allows everything.');

/** Sessions whose `*` includes proving to other systems for whom the program acts: `identity`. */
const signedInKinds: readonly RunSubject['session']['kind'][] = ['browser', 'device'];

/** @throws {AuthError} `invalid_scope` */
function narrowedScope({ session, scope: parent }: RunSubject, requested: string | undefined): string {
  if (requested === undefined && holdsEverything(parent)) throw scopeMissing();
  const scope = requested ?? parent;
  if (scope.split(' ').includes(everything))
    throw invalidScope(`scope: a run cannot have the scope ${everything}`);
  const held =
    holdsEverything(parent) && signedInKinds.includes(session.kind) ? `${parent} identity` : parent;
  const excess = scope.split(' ').find((name) => !isWithin(name, held));
  if (excess === undefined) return scope;
  throw invalidScope(
    onlyByName.includes(excess)
      ? `scope: ${excess} is only within this scope if it is named there`
      : 'scope: exceeds that of the session or key',
  );
}

/** @throws {AuthError} `invalid_target` */
function narrowedResource({ session }: RunSubject, { service, resource: requested }: RequestedRun) {
  const parent = session.resource;
  if (requested === undefined || parent === null) return requested ?? parent;
  if (isSameResource(requested, parent)) return parent;
  if (service?.reach.some((reachable) => isSameResource(reachable, requested))) return requested;
  throw invalidTarget(
    service
      ? 'resource: is not within the reach of this service'
      : 'resource: must be the resource of the subject token',
  );
}

/** @throws {AuthError} `invalid_authorization_details` */
function narrowedDetails({ session }: RunSubject, requested: unknown): AuthorizationDetails | null {
  const parent = parseDetails(session.authorization_details);
  if (requested === undefined) return parent;
  const details = checkAuthorizationDetails(requested);
  if (parent === null || areDetailsWithin(details, parent)) return details;
  throw new AuthError(
    'invalid_authorization_details',
    'authorization_details: each must equal one in the subject token',
  );
}

/** Whether every detail equals an outer one. An empty list allows more than any detail. */
function areDetailsWithin(inner: AuthorizationDetails, outer: AuthorizationDetails): boolean {
  const allowed = new Set(outer.map(canonicalJson));
  if (allowed.size > 0 && inner.length === 0) return false;
  return allowed.size === 0 || inner.every((detail) => allowed.has(canonicalJson(detail)));
}

/** A run to be made, as far as the account need not be locked to know it. */
interface NewRun extends Pick<RequestedRun, 'service'> {
  readonly subject: RunSubject;
  readonly client: ClientInfo;
  readonly scope: string;
  readonly resource: string | null;
  readonly authorizationDetails: AuthorizationDetails | null;
  /** The requested lifetime of its access tokens. */
  readonly tokenTtlSeconds: number;
  /** The run takes the place of the run of the subject token, which ends. */
  readonly isReplacement: boolean;
}

/** What the new run is directly within, and the earliest end of everything on its path, as known now. */
type Place = Awaited<ReturnType<typeof findPlace>>;

/**
 * Where the run goes, read again under the account's lock, since the session may have ended or its run may
 * have moved to another sign-in. If the run takes the place of another one, that ends here.
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
  const endsAt = Math.min(parent.idle_expires_at, parent.path_ends_at ?? Number.POSITIVE_INFINITY);
  return { parent, path, endsAt };
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
 * When a run and its first token end. A run never outlasts its ancestors. Without a service it has a single
 * token, which does not outlast the one it was made from, and ends with it.
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

/** Makes the run and its secret. @throws {AuthError} `invalid_request` if an ancestor has ended */
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
    path: JSON.stringify([id, ...place.path]),
    // Without a service of its own, it stays acted in by the one that acts in its parent.
    service_id: service?.id ?? parent.service_id,
    client_name: service?.name ?? (parent.kind === 'run' ? parent.client_name : null),
  };
  const [row] = await store.insertRun(tx, {
    ...logged,
    root_session_id: rootOf(place.path),
    actor: service ? [service.id, ...(parent.actor?.split(' ') ?? [])].join(' ') : parent.actor,
    token_ttl_seconds: service ? run.tokenTtlSeconds : null,
    scope: run.scope,
    resource: run.resource,
    authorization_details: run.authorizationDetails && JSON.stringify(run.authorizationDetails),
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
  await recordEnds(ctx, tx, { userId, client }, [ended], { reason: 'replaced' });
}

/**
 * Makes a run within the session or key of its subject, or in place of it, and records it. Races with every
 * way of ending one of those are decided by the insertion, which holds only while all of them are active.
 * @throws {AuthError} `invalid_request` if one of them has ended; `invalid_scope`, `invalid_target` if a
 * service has withdrawn what the run would hold; `conflict` if there are too many runs, or it is too deep
 */
async function startRun(ctx: Context, run: NewRun) {
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

type StoredSession = Awaited<ReturnType<typeof sessions.findSession>>[number];

/** The session or key that a run is created from, and its credential. */
export interface RunSubject {
  readonly session: StoredSession;
  /** What it allows: scope names separated by spaces, or `*` for everything. */
  readonly scope: string;
  /** When the token or key expires, in milliseconds since 1970. A cookie lasts as long as its session. */
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
  // Only what is an id reaches a statement: PostgreSQL refuses some characters.
  const session = isKeyId(id) ? await findActive(ctx, ctx.db.read, id) : undefined;
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

/** A session or key that a run can be within. Its idle timeout ends it, although access tokens outlive it. */
async function findActive(ctx: Context, on: Executor, id: string): Promise<StoredSession | undefined> {
  const [session] = await sessions.findSession(on, { id });
  return session && sessionStatus(session, ctx.clock()) === 'active' ? session : undefined;
}
