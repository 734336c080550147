import type { Tables } from '../../platform/database/schema.ts';

/**
 * How long an account's earlier addresses come before its later ones. Longer than the undo of a change (7 days): the
 * owner may notice late.
 */
export const formerAddressTtlSeconds = 30 * 86_400;

/** A change of address that was confirmed and not undone. */
type ConfirmedChange = Pick<
  Tables['email_changes'],
  'old_email' | 'old_email_key' | 'new_email' | 'new_email_key' | 'changed_at'
>;

type Keys = 'old_email_key' | 'new_email_key';

/**
 * When the account last left the address that a change goes back to; undefined where the change does not go back.
 *
 * Of two addresses that an account had within 30 days, the one it had first comes first. A change to the later one
 * can be undone from the earlier one. A change back to the earlier one is a return: the address it leaves gets no
 * undo link, and links that were mailed since the account left the earlier address no longer work. So holding an
 * address only briefly is not enough to take the account back, however often it goes to and fro.
 * `earlier` are the changes confirmed before it, oldest first.
 */
export function returnsFrom(
  change: Pick<ConfirmedChange, Keys>,
  earlier: readonly Pick<ConfirmedChange, Keys | 'changed_at'>[],
  now: number,
): number | undefined {
  const recent = earlier.filter(({ changed_at }) => (changed_at ?? 0) > now - formerAddressTtlSeconds * 1000);
  const held = recent.flatMap(({ old_email_key, new_email_key }) => [old_email_key, new_email_key]);
  const [left, taken] = [held.indexOf(change.old_email_key), held.indexOf(change.new_email_key)];
  if (taken < 0 || (left >= 0 && left <= taken)) return undefined;
  return (
    recent.findLast(({ old_email_key }) => old_email_key === change.new_email_key)?.changed_at ?? undefined
  );
}

/** A confirmed change and the address that undoing it restores. */
export type Undoable<Change> = Change & {
  readonly restores: { readonly email: string; readonly key: string };
};

/**
 * The changes that do not return to an earlier address, oldest first: only these can be undone. Undoing one restores the
 * address before it, unless the account has since returned to an address that it left earlier: then it keeps that one.
 */
export function undoableOf<Change extends ConfirmedChange>(changes: readonly Change[]): Undoable<Change>[] {
  const traced = changes.map((change, index) => ({
    change,
    leftAt: returnsFrom(change, changes.slice(0, index), change.changed_at ?? 0),
  }));
  return traced
    .filter(({ leftAt }) => leftAt === undefined)
    .map(({ change }) => {
      const since = change.changed_at ?? 0;
      const kept = traced.findLast(
        ({ change: later, leftAt }) =>
          leftAt !== undefined && leftAt < since && (later.changed_at ?? 0) > since,
      )?.change;
      const restores = kept
        ? { email: kept.new_email, key: kept.new_email_key }
        : { email: change.old_email!, key: change.old_email_key! };
      return { ...change, restores };
    });
}
