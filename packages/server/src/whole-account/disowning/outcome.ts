import type { DisownedNotice } from '@latchkey/contract/notices';
import type { Tables } from '../../platform/database/schema.ts';
import type { findApprover } from './store.ts';

/** What disowning one session undid. */
export type Undone = Omit<DisownedNotice, 'kind' | 'approver'>;

/** What the link of a notice has undone so far, as the notice's row stores it. */
export interface Outcome extends Undone {
  /** The session that approved the device. `created_at` is in milliseconds since 1970. */
  readonly approver: Awaited<ReturnType<typeof findApprover>>[number] | null;
}

type UsedNotice = Pick<Tables['notices'], 'kind' | 'outcome' | 'approver_disowned_at'>;

/** What the link of a notice undid. A notice is used and its outcome stored in one transaction. */
export const outcomeOf = ({ outcome }: UsedNotice): Outcome => JSON.parse(outcome!) as Outcome;

/** What disowning two sessions undid together. */
export const mergeUndone = (one: Undone, other: Undone, maxDeviceNames: number): Undone => ({
  email: other.email ?? one.email,
  sessions_ended: one.sessions_ended + other.sessions_ended,
  devices_ended: one.devices_ended + other.devices_ended,
  device_names: [...one.device_names, ...other.device_names].slice(0, maxDeviceNames),
  passkeys_removed: [...one.passkeys_removed, ...other.passkeys_removed],
  keys_removed: [...one.keys_removed, ...other.keys_removed],
});

/** The response to a use of the link. It leaves out the id of the approving session. */
export function responseOf(notice: UsedNotice): DisownedNotice {
  const { approver, ...undone } = outcomeOf(notice);
  return {
    kind: notice.kind,
    ...undone,
    approver:
      approver === null
        ? null
        : {
            created_at: new Date(approver.created_at).toISOString(),
            ip_address: approver.ip_address,
            user_agent: approver.user_agent,
            disowned: notice.approver_disowned_at !== null,
          },
  };
}
