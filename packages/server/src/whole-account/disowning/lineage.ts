/** A login and what it came of. */
export interface LoginOrigin {
  readonly id: string;
  /** The login that approved this device, or that this one replaced in its browser. */
  readonly parent_session_id: string | null;
  /** The login that added the passkey this one used. */
  readonly passkey_added_by: string | null;
  /** The change that set the address this one was mailed at. */
  readonly email_change_id: string | null;
}

/** A change of address that can still be undone. */
export interface UndoableChange {
  readonly id: string;
  readonly session_id: string;
  readonly new_email_key: string;
  readonly old_email_key: string | null;
}

export interface Descent<Change> {
  /** The disowned login and every one that came of it. */
  readonly sessionIds: ReadonlySet<string>;
  /** The first change of address that one of them made: the address before it is put back. */
  readonly firstChange: Change | undefined;
}

/**
 * What came of some logins: devices it approved, its successors in its browser, logins by passkeys that it added or by
 * mail to an address that it set, and what came of those. A login by mail to the address that is put back did not
 * come of it, even if one of these logins set that address again in between: it is the owner's.
 * `changes` are those of the account that can still be undone, oldest first.
 */
export function descentOf<Change extends UndoableChange>(
  roots: readonly string[],
  logins: readonly LoginOrigin[],
  changes: readonly Change[],
): Descent<Change> {
  const all = sessionsFrom(roots, logins, changes);
  const firstChange = changes.find((change) => all.has(change.session_id));
  if (!firstChange) return { sessionIds: all, firstChange };
  const foreign = changes.filter((change) => change.new_email_key !== firstChange.old_email_key);
  return { sessionIds: sessionsFrom(roots, logins, foreign), firstChange };
}

function sessionsFrom(
  roots: readonly string[],
  logins: readonly LoginOrigin[],
  changes: readonly UndoableChange[],
): ReadonlySet<string> {
  const changedBy = new Map(changes.map((change) => [change.id, change.session_id]));
  const ledTo = new Map<string, string[]>();
  for (const login of logins) {
    const origins = [
      login.parent_session_id,
      login.passkey_added_by,
      login.email_change_id === null ? undefined : changedBy.get(login.email_change_id),
    ];
    for (const origin of origins) {
      if (origin === null || origin === undefined) continue;
      const known = ledTo.get(origin);
      if (known) known.push(login.id);
      else ledTo.set(origin, [login.id]);
    }
  }
  const found = new Set(roots);
  // A set also visits what is added during the iteration.
  for (const id of found) for (const next of ledTo.get(id) ?? []) found.add(next);
  return found;
}
