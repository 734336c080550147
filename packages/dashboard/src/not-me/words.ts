import type { DisownedNotice, NoticeKind } from '@latchkey/contract/notices';

export const failureWords = {
  invalid_grant:
    'This link is no longer good: its time is over, or it is not complete. Sign in and look at your account.',
  conflict:
    'Another account has your former address by now, so it could not be put back, and nothing was changed. Ask whoever runs this service.',
  unreachable: 'Latchkey could not be reached. Check your connection and try again.',
};

const ended: Record<NoticeKind, string> = {
  new_device: 'The device has been signed out, and what it added is gone.',
  new_browser: 'That login has been ended, and what it added is gone: passkeys and approved devices.',
  passkey_added:
    'The passkey has been removed, and every login that was made with it or that added it has been ended.',
  passkey_removed:
    'The login that removed the passkey has been ended, and what it added is gone. The passkey itself does not come back: add it again from your account.',
  email_changed: 'Every login of your account has been ended.',
  theft_stopped:
    'That login had been ended already. What it added is gone, too: passkeys and approved devices.',
  refresh_repeated_elsewhere:
    'That login has been signed out, and what it added is gone: passkeys and approved devices. Sign in again where you need to.',
};

/** What pressing the button did. */
export const doneWords = (kind: NoticeKind, isAddressRestored: boolean): string =>
  isAddressRestored && kind !== 'email_changed' ? `${ended[kind]} ${ended.email_changed}` : ended[kind];

export function isDisownedNotice(kept: unknown): kept is DisownedNotice {
  const { kind, email } = (kept ?? {}) as Readonly<Record<keyof DisownedNotice, unknown>>;
  return (
    typeof kind === 'string' && Object.hasOwn(ended, kind) && (email === null || typeof email === 'string')
  );
}
