// The feed that services read about accounts: one request, its reader, and the events on the wire. watch.ts
// waits for events; security-log/feed-events/ writes them.

import { type FeedAnswer, type FeedEventType, type FeedRequest, setType } from '@latchkey/contract/feed';
import { fieldLimits } from '@latchkey/contract/field-limits';
import type { CallingService, Context, SentServiceKey } from '../../platform/context.ts';
import { AuthError, conflict } from '../../platform/errors.ts';
import { redact } from '../../platform/telemetry/redact.ts';
import { inSeconds } from '../../platform/timers.ts';
import type { FeedExtent } from '../../security-log/feed-events/feed-events.ts';
import { authenticateService, requireRight } from '../../services/authentication.ts';
import type { SigningKeys } from '../signing-keys/signing-keys.ts';
import * as store from './store.ts';
import type { FeedView, FeedWatch } from './watch.ts';

/** How many events that a service could not process are logged for one request. */
const maxLoggedErrors = 20;

/** A request of a service that may read the feed, and the key that it was sent with. */
interface FeedCall {
  readonly service: CallingService;
  readonly serviceKey: SentServiceKey | undefined;
  readonly body: FeedRequest;
  readonly arrivedAt: number;
}

/**
 * Hands out the events that a reader has not acknowledged, oldest first, or waits for the next one.
 * @throws {AuthError} `conflict` for one reader too many; `gone` after an absence that is too long, once;
 * `invalid_client` and `unauthorized_client` if the service was revoked or lost the right while it waited
 * @see RFC 8936 section 2
 */
export async function readFeed(
  ctx: Context,
  { watch, sign }: { readonly watch: FeedWatch; readonly sign: SignEvent },
  { service, serviceKey, body, arrivedAt }: FeedCall,
): Promise<FeedAnswer> {
  const { maxEvents, returnImmediately, ack, setErrs, reader: name } = body;
  let view = await watch.fresh();
  const reader = await openReader(ctx, service, name, view);
  logErrors(ctx, service, setErrs);
  const position = await settle(ctx, reader, [...ack, ...Object.keys(setErrs)], view);
  const waits = !returnImmediately && maxEvents > 0;
  const deadline = arrivedAt + ctx.config.feedWaitSeconds * 1000;
  for (let hasWaited = false; ; hasWaited = true) {
    const rows =
      view.newest > position
        ? await store.listUnacknowledged(ctx.db.read, {
            reader_id: reader.id,
            after: position,
            up_to: view.position,
            except_ids: '[]',
            limit: maxEvents + 1,
          })
        : [];
    const waitMs = deadline - ctx.timers.monotonic();
    if (rows.length > 0 || !waits || waitMs <= 0 || ctx.stopping.aborted) {
      const begun = reader.begun ? ({ begun: true } as const) : {};
      const current = hasWaited ? await authenticateReader(ctx, serviceKey) : service;
      return { ...(await answerOf(ctx, sign, current, rows, view, { maxEvents, arrivedAt })), ...begun };
    }
    await watch.changed(view, waitMs);
    view = await watch.recent();
  }
}

async function authenticateReader(ctx: Context, sent: SentServiceKey | undefined): Promise<CallingService> {
  const service = await authenticateService(ctx, sent);
  requireRight(service, ['feed']);
  return service;
}

/** `rows` may have one event more than fits, which is the first one that is missing in the answer. */
async function answerOf(
  ctx: Context,
  sign: SignEvent,
  service: CallingService,
  rows: readonly EventRow[],
  view: FeedView,
  { maxEvents, arrivedAt }: { readonly maxEvents: number; readonly arrivedAt: number },
): Promise<FeedAnswer> {
  const included = rows.slice(0, maxEvents);
  const missing = rows[maxEvents];
  const through = Math.min(view.completeUntil, missing?.written_at ?? view.completeUntil);
  const signed = await Promise.all(included.map(async (row) => [row.id, await sign(service, row)] as const));
  ctx.metrics.feedEvents.inc(included.length);
  return {
    sets: Object.fromEntries(signed),
    moreAvailable: missing !== undefined,
    through: new Date(through).toISOString(),
    // Rounded down: it must not look fresher than it is.
    after: Math.floor(view.lookedAt - arrivedAt - (view.now - through)),
  };
}

function logErrors(ctx: Context, service: CallingService, errors: FeedRequest['setErrs']): void {
  const entries = Object.entries(errors);
  for (const [jti, { err, description = '' }] of entries.slice(0, maxLoggedErrors)) {
    const reason = { jti: redact(jti), err: redact(err), description: redact(description) };
    ctx.log.warn({ service: service.id, ...reason }, 'a service could not process an event');
  }
  const more = entries.length - maxLoggedErrors;
  if (more > 0) ctx.log.warn({ service: service.id, more }, 'a service could not process more events');
}

export type EventRow = Awaited<ReturnType<typeof store.listUnacknowledged>>[number];

const caep = 'https://schemas.openid.net/secevent/caep/event-type/';
const risc = 'https://schemas.openid.net/secevent/risc/event-type/';

/** How long a signed event is kept for other readers of its service. Shorter than any key is published. */
const signedTtlMs = 5_000;
const maxSigned = 2_000;

/** The subject of an event: the user, and the session or key where the event is about one. @see RFC 9493 */
function subjectOf(issuer: string, row: EventRow) {
  const user = { format: 'iss_sub', iss: issuer, sub: row.user_id };
  const session = row.session_id === null ? {} : { session: { format: 'opaque', id: row.session_id } };
  const isComplex = row.type === 'session-revoked' || row.session_id !== null;
  return isComplex ? { format: 'complex', user, ...session } : user;
}

/** Where the types of events are defined that are not this service's own. */
const namespaces: Partial<Record<FeedEventType, string>> = {
  'session-revoked': caep,
  'credential-change': caep,
  'account-disabled': risc,
  'account-enabled': risc,
  'account-purged': risc,
};

/** Only services that can look up members learn which organization it was. */
const seesMemberships = ({ rights }: CallingService): boolean =>
  rights.includes('users') || rights.includes('organizations');

function payloadOf(service: CallingService, row: EventRow): Record<string, unknown> {
  const detail = JSON.parse(row.detail) as Record<string, unknown>;
  switch (row.type) {
    case 'session-revoked':
    case 'credential-change':
      return { ...detail, event_timestamp: inSeconds(row.written_at) };
    case 'membership-changed':
      return seesMemberships(service) ? detail : {};
    default:
      return detail;
  }
}

export type SignEvent = (service: CallingService, row: EventRow) => Promise<string>;

/**
 * Signs events as security event tokens for a service. They are signed when they are read, so keys that
 * retire meanwhile do not matter. Many readers of one service share the work.
 * @see RFC 8417
 */
export function createEventSigner({ config, clock }: Context, keys: SigningKeys): SignEvent {
  const issuer = config.baseUrl;
  const signed = new Map<string, { readonly at: number; readonly token: Promise<string> }>();
  return (service, row) => {
    const now = clock();
    const key = `${service.id} ${seesMemberships(service)} ${row.id}`;
    const known = signed.get(key);
    if (known && Math.abs(now - known.at) < signedTtlMs) return known.token;
    const token = keys.sign(setType, {
      iss: issuer,
      jti: row.id,
      iat: inSeconds(row.written_at),
      aud: service.id,
      sub_id: subjectOf(issuer, row),
      events: { [(namespaces[row.type] ?? `${issuer}/events/`) + row.type]: payloadOf(service, row) },
    });
    signed.delete(key);
    signed.set(key, { at: now, token });
    token.catch(() => signed.delete(key));
    const oldest = signed.size > maxSigned ? signed.keys().next().value : undefined;
    if (oldest !== undefined) signed.delete(oldest);
    return token;
  };
}

// The readers of the feed: a service itself, and those that it names. Each has a position:
// everything up to there is acknowledged.

/** How long events are kept, and so how long a service may be away. */
export const feedRetentionSeconds = 7 * 86_400;

/** How long a named reader is kept without a request. */
const readerTtlSeconds = 600;

/** The shortest interval between two writes of a reader that acknowledges nothing. */
const writeIntervalMs = 10_000;

/** A reader's last request is up to one interval later than stored. */
export const readerTtlMs = readerTtlSeconds * 1000 + writeIntervalMs;

export interface Reader {
  readonly id: string;
  readonly position: number;
  readonly lastRequestAt: number;
  /** It begins with this request. */
  readonly begun: boolean;
}

/**
 * The reader that a request names, or the service's own. Creates it if missing. A named one begins with its
 * first request, that of the service when the service gets the right to read.
 * @throws {AuthError} `conflict` for one reader too many; `gone` after an absence that is too long, once
 */
async function openReader(
  ctx: Context,
  service: CallingService,
  name: string | undefined,
  extent: FeedExtent,
): Promise<Reader> {
  const id = name === undefined ? service.id : `${service.id}/${name}`;
  const now = ctx.clock();
  const [found] = await store.findReader(ctx.db.read, { id, service_id: service.id });
  const from = found?.feed_from ?? extent.position;
  const since = found?.feed_since ?? now;
  const position = found?.position ?? -1;
  const lastRequestAt = found?.last_request_at ?? now;
  // Events while the service did not have the right were for no reader, so it must drop what it remembers.
  if (name !== undefined && (lastRequestAt < now - readerTtlMs || position < from))
    return beginNamed(ctx, service, { id, name, from }, extent);
  if (position < 0) {
    const begun = { id, service_id: service.id, name: null, position: from, settled_at: since, now };
    await store.insertReader(ctx.db.single, begun);
  }
  // When everything up to the position was acknowledged and nothing after it was there, at the earliest.
  const settledAt = Math.max(found?.settled_at ?? since, since);
  if (settledAt >= now - feedRetentionSeconds * 1000)
    return { id, position: Math.max(position, from), lastRequestAt, begun: false };
  // Events that it has not read may have been swept.
  await ctx.db.transaction(async (tx) => {
    await store.lockReader(tx, { id });
    await store.moveReader(tx, { id, position: extent.position, settled_at: now, now });
    await store.deleteAcknowledgements(tx, { reader_id: id, up_to: extent.position });
  });
  throw new AuthError(
    'gone',
    'The feed was not read for too long: events are missing. Drop everything derived from it. The next request starts over.',
  );
}

/** @throws {AuthError} `conflict` */
async function beginNamed(
  ctx: Context,
  service: CallingService,
  { id, name, from }: { readonly id: string; readonly name: string; readonly from: number },
  extent: FeedExtent,
): Promise<Reader> {
  const now = ctx.clock();
  const before = now - readerTtlMs;
  const begun = await ctx.db.transaction(async (tx) => {
    await store.lockService(tx, { id: service.id });
    await store.forgetReader(tx, { id, before, from });
    const [inserted] = await store.insertReader(tx, {
      id,
      service_id: service.id,
      name,
      position: extent.position,
      settled_at: now,
      now,
    });
    // Another request of the same reader was first, and is the one that begins it.
    if (!inserted) return false;
    const [active] = await store.countReaders(tx, { service_id: service.id, since: before });
    if (!active || active.readers > fieldLimits.feedReaders) {
      throw conflict(
        `A service can have at most ${fieldLimits.feedReaders} readers. Those without a request for ${readerTtlSeconds} seconds are forgotten.`,
      );
    }
    return true;
  });
  if (!begun) return openReader(ctx, service, name, extent);
  return { id, position: extent.position, lastRequestAt: now, begun };
}

/** Acknowledges events, and returns the new position. Without any, it writes at most once per interval. */
async function settle(ctx: Context, reader: Reader, acknowledged: readonly string[], extent: FeedExtent) {
  const isDue = ctx.clock() - reader.lastRequestAt >= writeIntervalMs;
  if (acknowledged.length === 0 && !isDue) return reader.position;
  const ids = JSON.stringify(acknowledged);
  return ctx.db.transaction(async (tx) => {
    const { id } = reader;
    const now = ctx.clock();
    const [locked] = await store.lockReader(tx, { id });
    const after = Math.max(locked?.position ?? 0, reader.position);
    const [first] = await store.listUnacknowledged(tx, {
      reader_id: id,
      after,
      up_to: extent.position,
      except_ids: ids,
      limit: 1,
    });
    const position = first ? first.seq - 1 : Math.max(after, extent.position);
    if (first) await store.acknowledge(tx, { reader_id: id, ids, after: position });
    await store.deleteAcknowledgements(tx, { reader_id: id, up_to: position });
    await store.moveReader(tx, { id, position, settled_at: Math.min(now, first?.written_at ?? now), now });
    return position;
  });
}
