import type { TokenSet } from '@latchkey/contract/tokens';
import type { CallingService, Context, TokenRequest } from '../platform/context.ts';
import { readHandle } from '../platform/crypto/handle.ts';
import { idempotencyHash, programHash, senderHash } from '../platform/crypto/primitives.ts';
import type { Executor } from '../platform/database/executor.ts';
import { AuthError, accountDisabled, invalidGrant } from '../platform/errors.ts';
import { type ClientInfo, networkKey, programOf } from '../platform/values/client-address.ts';
import { recordOncePerHour } from '../security-log/events/events.ts';
import { notify } from '../security-log/notices/notices.ts';
import { authenticateService, requireDelegation } from '../services/authentication.ts';
import { proveClient } from '../services/clients.ts';
import { type RepeatedAccess, requireOwnAccess, withRequestedScope } from '../services/scopes.ts';
import { endStolenSession } from './ending.ts';
import { type SessionState, type SessionStatus, sessionStatus } from './status.ts';
import * as store from './store.ts';
import { type Rotation, sessionIdOf, tokenSetOf } from './tokens.ts';

/** How long a request repeated with its idempotency key gets the tokens of the first. */
export const refreshRetryWindowSeconds = 600;

/** Why a refresh token did not yield a new generation. */
export type ReuseKind = 'retry' | 'race' | 'theft' | Exclude<SessionStatus, 'active'>;

interface PresentedToken {
  readonly generation: number;
  /** Equal for repetitions of one request; null for a request that cannot be repeated. */
  readonly idempotencyHash: string | null;
  readonly repeatableSeconds: number;
}

/**
 * Classifies the reuse of a refresh token. A retry presents the token spent last in the same request, as its
 * idempotency key shows or, for a form without one, its sender. A race presents the token spent last within
 * the leeway, or any token in a request that arrived (`now`) before the last rotation. With `leewaySeconds` 0
 * there are no races: every spent token but a retry counts as stolen.
 * @see RFC 9700 section 4.14.2
 */
export function classifyReuse(
  presented: PresentedToken,
  session: SessionState & { generation: number; rotated_at: number; idempotency_hash: string | null },
  now: number,
  leewaySeconds: number,
): ReuseKind {
  const status = sessionStatus(session, now);
  if (status !== 'active') return status;
  // Not a spent token: the row changed after the update, or was restored from a backup.
  // Refused without calling it theft.
  if (presented.generation >= session.generation) return 'ended';
  // Overtaken by a later rotation: a race or a retry, however old its token is.
  if (leewaySeconds > 0 && session.rotated_at > now)
    return sameRequestAsLast(presented, session) ? 'retry' : 'race';
  if (presented.generation < session.generation - 1) return 'theft';
  const ageMs = now - session.rotated_at;
  if (sameRequestAsLast(presented, session) && ageMs <= presented.repeatableSeconds * 1000) return 'retry';
  return leewaySeconds > 0 && ageMs <= leewaySeconds * 1000 ? 'race' : 'theft';
}

/** Whether this request is a repetition of the one that created the current generation. */
const sameRequestAsLast = (
  presented: PresentedToken,
  session: { generation: number; idempotency_hash: string | null },
): boolean =>
  presented.generation === session.generation - 1 &&
  presented.idempotencyHash !== null &&
  presented.idempotencyHash === session.idempotency_hash;

type RefreshOrigin = ReturnType<typeof originOf>;

/** Where a refresh request comes from, as stored with the generation that it created. */
const originOf = ({ ipAddress, userAgent }: ClientInfo) => ({
  network: networkKey(ipAddress),
  program: programHash(programOf(userAgent)),
});

/** How the origin of a retry differs from that of the first request. An unknown origin does not differ. */
const changesOfOrigin = (
  { network, program }: RefreshOrigin,
  first: { rotated_network: string | null; rotated_program: string | null },
): ('network' | 'program')[] => [
  ...(first.rotated_network === null || first.rotated_network === network ? [] : (['network'] as const)),
  ...(first.rotated_program === null || first.rotated_program === program ? [] : (['program'] as const)),
];

/** A refresh request whose token has a valid MAC. */
interface RefreshRequest extends PresentedToken {
  readonly sessionId: string;
  readonly secret: Buffer;
  readonly client: ClientInfo;
  readonly origin: RefreshOrigin;
  /** When it arrived, in milliseconds since 1970. */
  readonly now: number;
  /** The service whose key came with the request, if that is valid. */
  readonly service: CallingService | AuthError | undefined;
  /** The client that the request is proven to come from, or the public one that it names. */
  readonly clientId: string | undefined;
}

type StoredSession = Awaited<ReturnType<typeof store.findSession>>[number];

type RefreshResult = { tokens: TokenSet; detail: 'rotated' | 'retry' };

const refused = invalidGrant('The refresh token is unknown, expired, revoked or already used.');

/**
 * Spends a refresh token for its one successor. The same token with the same idempotency key gets the same
 * successor again, and so does a form without a key from the same sender within the leeway. A stolen refresh
 * token revokes only its own session. The refresh token of a run requires the key of its service.
 * @throws {AuthError} `invalid_grant`, `invalid_scope`, `invalid_target`, `account_disabled`, `rate_limited`;
 * for a run also `invalid_client`, `unauthorized_client`
 */
export async function refresh(
  ctx: Context,
  refreshToken: string,
  call: TokenRequest,
): Promise<RefreshResult & { readonly sessionId: string; readonly clientId: string | undefined }> {
  const { serviceKey, body, client: from } = call;
  const now = ctx.clock();
  const handle = readHandle(ctx.keys, 'refreshToken', refreshToken);
  if (!handle) {
    countOutcome(ctx, 'malformed');
    throw refused('malformed');
  }
  const { subject: secret, value: generation } = handle;
  const sessionId = sessionIdOf(secret);
  await ctx.limiter.take({ limit: 'refreshes', subject: sessionId });
  const service = serviceKey && (await clientOrError(authenticateService(ctx, serviceKey)));
  const client =
    service ?? (body.client_id === undefined ? undefined : await clientOrError(proveClient(ctx, call)));
  const clientId = client instanceof AuthError ? undefined : typeof client === 'string' ? client : client?.id;
  const request: RefreshRequest = {
    sessionId,
    secret,
    generation,
    ...repetitionOf(ctx, secret, call, service),
    client: from,
    origin: originOf(from),
    now,
    service,
    clientId,
  };
  await checkRepeatedAccess(ctx, request, body);
  const { tokens, detail } = await spendOrRepeat(ctx, request);
  const named = body.scope === undefined ? tokens : withRequestedScope(tokens, body);
  return { tokens: named, detail, sessionId, clientId };
}

/**
 * How a repetition of a request is recognized, and for how long. A client that knows only OAuth sends a form
 * without an idempotency key: its name, network and program take the place of that, within the leeway.
 */
function repetitionOf(
  ctx: Context,
  secret: Buffer,
  { idempotencyKey, isForm, client, serviceKey, body }: TokenRequest,
  service: CallingService | AuthError | undefined,
): Pick<PresentedToken, 'idempotencyHash' | 'repeatableSeconds'> {
  const leewaySeconds = ctx.config.refreshReuseLeewaySeconds;
  if (idempotencyKey !== undefined || !isForm || leewaySeconds === 0)
    return {
      idempotencyHash: idempotencyHash(secret, idempotencyKey),
      repeatableSeconds: refreshRetryWindowSeconds,
    };
  const { network, program } = originOf(client);
  const sender =
    service === undefined || service instanceof AuthError
      ? [serviceKey?.id ?? null, serviceKey?.secret ?? null, body.client_id ?? null]
      : [service.id];
  return {
    idempotencyHash: senderHash(secret, [network, program, ...sender]),
    repeatableSeconds: leewaySeconds,
  };
}

/** The client that authenticates; the error if it fails to. */
const clientOrError = <Client>(authentication: Promise<Client>): Promise<Client | AuthError> =>
  authentication.catch((error) => {
    if (error instanceof AuthError && error.code === 'invalid_client') return error;
    throw error;
  });

/**
 * Refuses the refresh token of a run without the key of the service that made it, and that of an application
 * for every other client, before anything else is decided.
 * @throws {AuthError} `invalid_grant`, `invalid_client`; for a run also `unauthorized_client`
 */
async function requireClient(
  ctx: Context,
  { kind, service_id, client_id }: StoredSession,
  { service, clientId }: RefreshRequest,
): Promise<void> {
  if (kind === 'run') {
    const authenticated = service ?? (await authenticateService(ctx, undefined));
    if (authenticated instanceof AuthError) throw authenticated;
    if (authenticated.id !== service_id) throw refused('another_service');
    requireDelegation(authenticated);
  }
  if (client_id === null || client_id === clientId) return;
  throw service instanceof AuthError ? service : refused('another_client');
}

/**
 * How often a token is tried that could not be spent although it is the current one: on PostgreSQL, a session
 * that takes over its run at the same moment hides the run's new path from the statement that waited for it.
 */
const maxRotations = 3;

async function spendOrRepeat(ctx: Context, request: RefreshRequest): Promise<RefreshResult> {
  for (let attempt = 1; ; attempt++) {
    const rotated = await rotate(ctx, request);
    if (rotated) {
      countOutcome(ctx, 'rotated');
      return { tokens: tokenSetOf(ctx, request.secret, rotated), detail: 'rotated' };
    }
    const [session] = await store.findSession(ctx.db.read, { id: request.sessionId });
    if (session) await requireClient(ctx, session, request);
    if (attempt === maxRotations || !isCurrent(session, request)) return answerReuse(ctx, request, session);
  }
}

const isCurrent = (session: StoredSession | undefined, { generation, now }: RefreshRequest): boolean =>
  session?.kind === 'run' && session.generation === generation && sessionStatus(session, now) === 'active';

/**
 * Refuses a scope or resource that is not the session's own, before anything is spent: they never change. A
 * token that yields nothing anyway is left to the next step.
 * @throws {AuthError} `invalid_scope`, `invalid_target`
 */
async function checkRepeatedAccess(ctx: Context, request: RefreshRequest, repeated: RepeatedAccess) {
  if (repeated.scope === undefined && repeated.resource === undefined) return;
  const { sessionId, generation, now } = request;
  const [session] = await store.findSession(ctx.db.read, { id: sessionId });
  if (!session) return;
  await requireClient(ctx, session, request);
  const yieldsTokens =
    generation === session.generation
      ? sessionStatus(session, now) === 'active'
      : classifyReuse(request, session, now, ctx.config.refreshReuseLeewaySeconds) === 'retry';
  if (yieldsTokens) await requireOwnAccess(ctx.db.read, repeated, session);
}

const countOutcome = (ctx: Context, outcome: string): void => ctx.metrics.refreshes.inc({ outcome });

/** Spends the token in one conditional statement; undefined if it is not current for an active session. */
async function rotate(ctx: Context, request: RefreshRequest): Promise<Rotation | undefined> {
  const { service } = request;
  const mayDelegate =
    service !== undefined && !(service instanceof AuthError) && service.rights.includes('delegate');
  const [rotated] = await store.rotate(ctx.db.single, {
    id: request.sessionId,
    generation: request.generation,
    idempotency_hash: request.idempotencyHash,
    ...request.origin,
    now: request.now,
    idle_expires_at: request.now + ctx.config.refreshIdleTtlSeconds * 1000,
    run_idle_expires_at: request.now + ctx.config.runIdleTtlSeconds * 1000,
    service_id: mayDelegate ? service.id : null,
    client_id: request.clientId ?? null,
  });
  return rotated;
}

/** Repeats the successor for a retry; refuses any other token that could not be spent, and acts on theft. */
async function answerReuse(
  ctx: Context,
  request: RefreshRequest,
  session: StoredSession | undefined,
): Promise<RefreshResult> {
  const { sessionId, client } = request;
  const leewaySeconds = ctx.config.refreshReuseLeewaySeconds;
  const reuse = session ? classifyReuse(request, session, request.now, leewaySeconds) : 'unknown';
  countOutcome(ctx, reuse);
  if (!session) throw refused('unknown');
  const event = { userId: session.user_id, sessionId, client };
  switch (reuse) {
    case 'retry':
      await recordRetry(ctx, event, request.origin.network, changesOfOrigin(request.origin, session));
      return { tokens: tokenSetOf(ctx, request.secret, session), detail: 'retry' };
    case 'disabled':
      throw accountDisabled();
    case 'theft':
      await endStolenSession(ctx, event);
      throw refused('theft');
    case 'race':
      await recordOncePerHour(ctx, { ...event, type: 'refresh_race' }, sessionId);
      throw refused('race');
    default:
      throw refused(reuse);
  }
}

/**
 * Records a retry. From another network or program, it may come from a device that has moved or from a copy
 * of the credentials, so the owner gets a notice, at most once an hour per network.
 * @throws {AuthError} `invalid_grant`, `account_disabled`
 */
async function recordRetry(
  ctx: Context,
  event: { readonly userId: string; readonly sessionId: string; readonly client: ClientInfo },
  network: string,
  changes: readonly string[],
): Promise<void> {
  if (changes.length === 0) {
    const retry = { ...event, type: 'refresh_retry' } as const;
    return recordOncePerHour(ctx, retry, event.sessionId, (tx) => requireActive(ctx, tx, event.sessionId));
  }
  const detail = { changed: changes.join(' ') };
  return recordOncePerHour(
    ctx,
    { ...event, type: 'refresh_retry_elsewhere', detail },
    `${event.sessionId} ${network}`,
    async (tx) => {
      await requireActive(ctx, tx, event.sessionId);
      await notify(ctx, tx, { ...event, kind: 'refresh_repeated_elsewhere' });
    },
  );
}

/** The session may have ended since it was read: then nothing is recorded, and the owner gets no notice. */
async function requireActive(ctx: Context, tx: Executor, id: string): Promise<void> {
  const [session] = await store.findSessionStatus(tx, { id });
  const status = session ? sessionStatus(session, ctx.clock()) : 'ended';
  if (status === 'disabled') throw accountDisabled();
  if (status === 'ended') throw refused('ended');
}
