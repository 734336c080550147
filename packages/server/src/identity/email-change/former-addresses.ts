import type { Tables } from '../../platform/database/schema.ts';
import { emailKeyOf } from '../../platform/values/email-key.ts';

/** How long the first address that an account had is the only one that can be restored. */
export const formerAddressTtlSeconds = 30 * 86_400;

/** A change of address that was confirmed and not undone. `expires_at`: until when it can be undone. */
type ConfirmedChange = {
  [Column in 'old_email' | 'old_email_key' | 'changed_at' | 'expires_at' | 'ordinal']: NonNullable<
    Tables['email_changes'][Column]
  >;
};

interface Link {
  /** The address that the link was sent to. */
  readonly sentTo: string;
  /** The ordinal of the session that it concerns. */
  readonly since: number;
  /** The address of the account. */
  readonly current: string;
  readonly now: number;
}

/**
 * The address that the link of a notice restores: the one that the account had when the reported session began, if the link was sent
 * there and the account has left it within 7 days. Undefined if the account keeps its address. Of several addresses within 30 days only the first is
 * restored, so holding an address briefly is not enough to take an account back. Letter case makes another address, but not another
 * mailbox. `changes` are in their order.
 */
export function addressToRestore(changes: readonly ConfirmedChange[], link: Link): string | undefined {
  const { sentTo, since, current, now } = link;
  const left = changes.find(({ ordinal }) => ordinal > since);
  if (!left || left.old_email === current || sentTo === current) return undefined;
  const isThere = ({ old_email_key }: ConfirmedChange) => old_email_key === left.old_email_key;
  const lastLeft = changes.findLast(isThere);
  const first = changes.find(({ changed_at }) => changed_at > now - formerAddressTtlSeconds * 1000);
  const canRestore =
    emailKeyOf(sentTo) === left.old_email_key && lastLeft!.expires_at > now && first && isThere(first);
  return canRestore ? left.old_email : undefined;
}
