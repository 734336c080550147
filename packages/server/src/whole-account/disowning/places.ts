import type { NoticeKind } from '@latchkey/contract/notices';
import type { Tables } from '../../platform/database/schema.ts';
import { networkKey } from '../../platform/values/client-address.ts';
import { programOf } from '../../platform/values/user-agent.ts';
import { type Descent, descentOf, type SessionOrigin, type UndoableChange } from './lineage.ts';

/** A session, what it came from, and the place it was started at. */
export type PlacedSession = SessionOrigin &
  Pick<Tables['sessions'], 'kind' | 'ip_address' | 'user_agent' | 'created_at' | 'distrusted_as'>;

/** Notices about a copied token: the session was the owner's, and so is its place. */
const copiedTokenKinds: readonly NoticeKind[] = ['theft_stopped', 'refresh_repeated_elsewhere'];

const placeOf = ({ ip_address, user_agent }: PlacedSession) =>
  `${networkKey(ip_address)} ${programOf(user_agent)}`;

/**
 * The later browser sessions from places that only disowned sessions had made known, so the owner got no notice of them.
 * The first session of an account makes its place the owner's. `sessions` are oldest first.
 */
export function unnoticedSessions(
  disowned: ReadonlySet<string>,
  sessions: readonly PlacedSession[],
  kind: NoticeKind,
): string[] {
  const knownTo = new Map<string, 'owner' | 'disowned'>();
  const found: string[] = [];
  for (const [index, session] of sessions.filter((one) => one.kind === 'browser').entries()) {
    const place = placeOf(session);
    const isOwners = knownTo.get(place) === 'owner';
    if (disowned.has(session.id)) {
      const wasNoticed = kind === 'new_browser' || index > 0;
      if (wasNoticed && !isOwners) knownTo.set(place, 'disowned');
    } else if (knownTo.get(place) === 'disowned') {
      found.push(session.id);
    } else if (session.distrusted_as === null) {
      knownTo.set(place, 'owner');
    }
  }
  return found;
}

/** What came from a session, see `descentOf`, and from every session that went unnoticed because of one of those. */
export function descentWithPlaces<Change extends UndoableChange>(
  rootId: string | null,
  sessions: readonly PlacedSession[],
  changes: readonly Change[],
  kind: NoticeKind,
): Descent<Change> {
  const oldestFirst = sessions.toSorted((one, other) => one.created_at - other.created_at);
  const roots = rootId === null ? [] : [rootId];
  for (;;) {
    const descent = descentOf(roots, sessions, changes);
    const unnoticed = copiedTokenKinds.includes(kind)
      ? []
      : unnoticedSessions(descent.sessionIds, oldestFirst, kind);
    if (unnoticed.length === 0) return descent;
    roots.push(...unnoticed);
  }
}
