import type { DisownedNotice, NoticeKind } from '@latchkey/contract/notices';
import { type ErrorMessages, unreachable } from '../error-messages.ts';
import { count } from '../format.ts';

export const errorMessages: ErrorMessages = {
  invalid_grant: 'This link has expired or is incomplete. Sign in and check your account.',
  conflict:
    "Another account now uses your previous email, so it couldn't be restored and nothing was changed. Contact the administrator.",
  unreachable,
};

const ended: Record<NoticeKind, string> = {
  new_device: 'The device has been signed out.',
  new_browser: 'The session has ended, and everything it added has been removed.',
  passkey_added: 'The session has ended, and everything it added has been removed, including the passkey.',
  passkey_removed:
    "The session has ended, and everything it added has been removed. The removed passkey can't be restored. You can add it again from your account.",
  key_added: 'The session has ended, and everything it added has been removed, including the key.',
  key_removed:
    "The session has ended, and everything it added has been removed. The removed key can't be restored. You can create a new one from your account.",
  email_changed: 'The session has ended, and everything it added has been removed.',
  theft_stopped: 'The session had already ended. Everything it added has been removed.',
  refresh_repeated_elsewhere:
    'The session has ended, and everything it added has been removed. Sign in again where you need to.',
};

/** What reporting "This wasn't me" did. */
export const doneText = ({ kind, email }: DisownedNotice): string =>
  email === null ? ended[kind] : `${ended[kind]} All your other sessions have ended too.`;

export const browsersText = (number: number): string => `${count(number, 'browser session')} ended`;

export const devicesText = (number: number): string => `${count(number, 'device')} signed out`;

export const passkeysText = (number: number): string => `${count(number, 'passkey')} removed`;

export const keysText = (number: number): string => `${count(number, 'key')} removed`;

const isTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((text) => typeof text === 'string');

function isApprover(value: unknown): boolean {
  if (value === null) return true;
  if (typeof value !== 'object' || value === undefined) return false;
  const { created_at, disowned, ip_address, user_agent } = value as Readonly<Record<string, unknown>>;
  const texts = [ip_address, user_agent].filter((text) => text !== null);
  return typeof created_at === 'string' && typeof disowned === 'boolean' && isTexts(texts);
}

/** Validates a response restored after a reload; an earlier release may have stored another shape. */
export function isDisownedNotice(stored: unknown): stored is DisownedNotice {
  const notice = (stored ?? {}) as Readonly<Record<keyof DisownedNotice, unknown>>;
  const { kind, email } = notice;
  return (
    typeof kind === 'string' &&
    Object.hasOwn(ended, kind) &&
    (email === null || typeof email === 'string') &&
    typeof notice.sessions_ended === 'number' &&
    typeof notice.devices_ended === 'number' &&
    isTexts(notice.device_names) &&
    isTexts(notice.passkeys_removed) &&
    isTexts(notice.keys_removed) &&
    isApprover(notice.approver)
  );
}
