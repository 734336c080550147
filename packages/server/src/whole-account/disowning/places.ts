import type { NoticeKind } from '@latchkey/contract/notices';
import { placeOf } from '../../sessions/sessions.ts';
import { type Descent, descentOf, type LoginOrigin, type UndoableChange } from './lineage.ts';

/** A login, what it came of, and the place it came from. */
export interface PlacedLogin extends LoginOrigin {
  readonly kind: 'browser' | 'device';
  readonly ip_address: string | null;
  readonly user_agent: string | null;
  readonly created_at: number;
  readonly distrusted_as: string | null;
}

/** Notices of a copied token: the login was the owner's, so its place is, too. */
const copiedTokenKinds: readonly NoticeKind[] = ['theft_stopped', 'refresh_repeated_elsewhere'];

/**
 * The later browser logins from places that only disowned logins had made familiar: the owner was never told of them.
 * The account's first login makes its place the owner's. `logins` are oldest first.
 */
export function unnoticedLogins(
  disowned: ReadonlySet<string>,
  logins: readonly PlacedLogin[],
  kind: NoticeKind,
): string[] {
  const familiarTo = new Map<string, 'owner' | 'disowned'>();
  const found: string[] = [];
  for (const [index, login] of logins.filter((one) => one.kind === 'browser').entries()) {
    const place = placeOf(login);
    const isOwners = familiarTo.get(place) === 'owner';
    if (disowned.has(login.id)) {
      const wasNoticed = kind === 'new_browser' || index > 0;
      if (wasNoticed && !isOwners) familiarTo.set(place, 'disowned');
    } else if (familiarTo.get(place) === 'disowned') {
      found.push(login.id);
    } else if (login.distrusted_as === null) {
      familiarTo.set(place, 'owner');
    }
  }
  return found;
}

/** What came of a login, as `descentOf` says, and of every login that went unnoticed because of one of them. */
export function descentWithPlaces<Change extends UndoableChange>(
  rootId: string | null,
  logins: readonly PlacedLogin[],
  changes: readonly Change[],
  kind: NoticeKind,
): Descent<Change> {
  const oldestFirst = logins.toSorted((one, other) => one.created_at - other.created_at);
  const roots = rootId === null ? [] : [rootId];
  for (;;) {
    const descent = descentOf(roots, logins, changes);
    const unnoticed = copiedTokenKinds.includes(kind)
      ? []
      : unnoticedLogins(descent.sessionIds, oldestFirst, kind);
    if (unnoticed.length === 0) return descent;
    roots.push(...unnoticed);
  }
}
