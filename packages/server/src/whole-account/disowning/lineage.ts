/** A session and what it came from. */
export interface SessionOrigin {
  readonly id: string;
  /** The session that approved this device, that this one replaced in its browser, or that made this key. */
  readonly parent_session_id: string | null;
  /** The session that added the passkey used to start this one. */
  readonly passkey_added_by: string | null;
  /** The change that set the address whose mail started this session. */
  readonly email_change_id: string | null;
}

/** A change of address that can still be undone. */
export interface UndoableChange {
  readonly id: string;
  readonly session_id: string;
  readonly new_email_key: string;
  /** The address that undoing it restores. */
  readonly restores: { readonly key: string };
}

export interface Descent<Change> {
  /** The disowned session and every session that came from it. */
  readonly sessionIds: ReadonlySet<string>;
  /** The first change of address that one of them made, which will be undone. */
  readonly firstChange: Change | undefined;
}

/**
 * Everything that came from some sessions: devices they approved, keys they made, their successors in the browser, sessions started with
 * passkeys they added or by mail to an address they set, and what came from those. A session started by mail to the address that will
 * be restored is the owner's, even if a disowned session set that address again in between.
 * `changes` are the account's changes of address that can still be undone, oldest first.
 */
export function descentOf<Change extends UndoableChange>(
  rootIds: readonly string[],
  sessions: readonly SessionOrigin[],
  changes: readonly Change[],
): Descent<Change> {
  const all = sessionsFrom(rootIds, sessions, changes);
  const firstChange = changes.find((change) => all.has(change.session_id));
  if (!firstChange) return { sessionIds: all, firstChange };
  const foreign = changes.filter((change) => change.new_email_key !== firstChange.restores.key);
  return { sessionIds: sessionsFrom(rootIds, sessions, foreign), firstChange };
}

function sessionsFrom(
  rootIds: readonly string[],
  sessions: readonly SessionOrigin[],
  changes: readonly UndoableChange[],
): ReadonlySet<string> {
  const changedBy = new Map(changes.map((change) => [change.id, change.session_id]));
  const links = sessions.flatMap(({ id, parent_session_id, passkey_added_by, email_change_id }) =>
    [parent_session_id, passkey_added_by, changedBy.get(email_change_id ?? '')].map((from) => ({ from, id })),
  );
  const linksFrom = Map.groupBy(links, ({ from }) => from);
  const found = new Set(rootIds);
  // Iterating over a set also visits what is added during the iteration.
  for (const id of found) for (const link of linksFrom.get(id) ?? []) found.add(link.id);
  return found;
}
