import type { DisownedNotice, NoticeKind } from '@latchkey/contract/notices';

export const errorMessages = {
  invalid_grant: 'This link has expired or is incomplete. Sign in and look at your account.',
  conflict:
    'Another account has your former address by now, so it could not be put back, and nothing was changed. Ask whoever runs this service.',
  unreachable: 'Latchkey could not be reached. Check your connection and try again.',
};

const ended: Record<NoticeKind, string> = {
  new_device: 'The device is signed out.',
  new_browser: 'That login has ended, and everything it added is gone.',
  passkey_added:
    'The login that added the passkey has ended, and everything it added is gone, the passkey included.',
  passkey_removed:
    'The login that removed the passkey has ended, and everything it added is gone. The removed passkey does not come back: add it again from your account.',
  email_changed: 'The login that changed the address has ended, and everything it added is gone.',
  theft_stopped: 'That login had been ended already. Everything it added is gone, too.',
  refresh_repeated_elsewhere:
    'That login has ended, and everything it added is gone. Sign in again where you need to.',
};

/** What pressing the button did. */
export const doneText = ({ kind, email }: DisownedNotice): string =>
  email === null ? ended[kind] : `${ended[kind]} Every other login of your account has ended, too.`;

const count = (number: number, one: string, many: string): string =>
  number === 1 ? `1 ${one}` : `${number} ${many}`;

export const browsersText = (number: number): string =>
  `${count(number, 'browser login was', 'browser logins were')} ended.`;

export const devicesText = (number: number): string =>
  `${count(number, 'device was', 'devices were')} signed out`;

export const passkeysText = (number: number): string =>
  `${count(number, 'passkey was', 'passkeys were')} removed`;

const isTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((text) => typeof text === 'string');

function isApprover(value: unknown): boolean {
  if (value === null) return true;
  if (typeof value !== 'object' || value === undefined) return false;
  const { created_at, disowned, ip_address, user_agent } = value as Readonly<Record<string, unknown>>;
  const texts = [ip_address, user_agent].filter((text) => text !== null);
  return typeof created_at === 'string' && typeof disowned === 'boolean' && isTexts(texts);
}

/** Whether this is what the service answers; the page may find what an earlier release of it has kept. */
export function isDisownedNotice(kept: unknown): kept is DisownedNotice {
  const notice = (kept ?? {}) as Readonly<Record<keyof DisownedNotice, unknown>>;
  const { kind, email } = notice;
  return (
    typeof kind === 'string' &&
    Object.hasOwn(ended, kind) &&
    (email === null || typeof email === 'string') &&
    typeof notice.sessions_ended === 'number' &&
    typeof notice.devices_ended === 'number' &&
    isTexts(notice.device_names) &&
    isTexts(notice.passkeys_removed) &&
    isApprover(notice.approver)
  );
}
