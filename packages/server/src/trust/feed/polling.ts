// What services read about accounts: readers.ts (who reads, and how far they have read), watch.ts (waiting for events),
// sets.ts (the events on the wire). Events are written by security-log/feed-events/.

import { type FeedAnswer, type FeedEventType, type FeedRequest, setType } from '@latchkey/contract/feed';
import type { CallingService, Context } from '../../platform/context.ts';
import { redact } from '../../platform/telemetry/redact.ts';
import { inSeconds } from '../../platform/timers.ts';
import type { SigningKeys } from '../signing-keys/signing-keys.ts';
import { openReader, settle } from './readers.ts';
import * as store from './store.ts';
import type { FeedView, FeedWatch } from './watch.ts';

/** How many events that a service could not process are logged for one request. */
const maxLoggedErrors = 20;

/**
 * Hands out what a reader has not acknowledged, oldest first, or waits for the next event. @see RFC 8936 section 2
 * @throws {AuthError} `conflict` for one reader too many; `gone` after an absence that is too long, once
 */
export async function readFeed(
  ctx: Context,
  { watch, sign }: { readonly watch: FeedWatch; readonly sign: SignEvent },
  service: CallingService,
  { maxEvents, returnImmediately, ack, setErrs, reader: name }: FeedRequest,
  arrivedAt: number,
): Promise<FeedAnswer> {
  let view = await watch.fresh();
  const reader = await openReader(ctx, service, name, view);
  logErrors(ctx, service, setErrs);
  const position = await settle(ctx, reader, [...ack, ...Object.keys(setErrs)], view);
  const waits = !returnImmediately && maxEvents > 0;
  const deadline = arrivedAt + ctx.config.feedWaitSeconds * 1000;
  for (;;) {
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
      return { ...(await answerOf(ctx, sign, service, rows, view, { maxEvents, arrivedAt })), ...begun };
    }
    await watch.changed(view, waitMs);
    view = await watch.recent();
  }
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

/** How long a signed event is kept for the other readers of its service. Shorter than any key is published. */
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
 * Signs events for a service when they are read, so keys may retire meanwhile. Its readers share the work.
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
