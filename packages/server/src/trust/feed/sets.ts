import { type FeedEventType, setType } from '@latchkey/contract/feed';
import type { CallingService, Context } from '../../platform/context.ts';
import { inSeconds } from '../../platform/timers.ts';
import type { SigningKeys } from '../signing-keys/signing-keys.ts';
import type * as store from './store.ts';

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
 * Signs events as security event tokens for a service. Made when they are read, so keys that retire meanwhile do not
 * matter; many readers of one service share the work.
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
