import type { DisownedNotice, NoticeKind } from '@latchkey/contract/notices';
import type { ErrorMessages } from '../error-messages.ts';
import { sentences, texts } from '../texts.ts';

export const errorMessages: ErrorMessages = {
  invalid_grant: texts.notMe.refused,
  conflict: texts.notMe.conflict,
};

const { ended, othersEnded } = texts.notMe;

/** What reporting "This wasn't me" did. */
const endings: Readonly<Record<NoticeKind, readonly string[]>> = {
  new_device: [ended.new_device],
  new_app: [ended.new_app],
  new_browser: [ended.session],
  passkey_added: [ended.session],
  passkey_removed: [ended.session, ended.passkey_removed],
  key_added: [ended.session],
  key_removed: [ended.session, ended.key_removed],
  email_changed: [ended.session],
  theft_stopped: [ended.theft_stopped],
  refresh_repeated_elsewhere: [ended.session],
  sign_in_link_issued: [ended.sign_in_link_issued],
};

export const doneText = ({ kind, email }: DisownedNotice): string =>
  sentences(...endings[kind], ...(email === null ? [] : [othersEnded]));

const isTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((text) => typeof text === 'string');

function isApprover(value: unknown): boolean {
  if (value === null) return true;
  if (typeof value !== 'object' || value === undefined) return false;
  const { created_at, disowned, ip_address, user_agent } = value as Readonly<Record<string, unknown>>;
  const texts = [ip_address, user_agent].filter((text) => text !== null);
  return typeof created_at === 'string' && typeof disowned === 'boolean' && isTexts(texts);
}

/** Validates a response restored after a reload. */
export function isDisownedNotice(stored: unknown): stored is DisownedNotice {
  const notice = (stored ?? {}) as Readonly<Record<keyof DisownedNotice, unknown>>;
  const { kind, email } = notice;
  return (
    typeof kind === 'string' &&
    Object.hasOwn(endings, kind) &&
    (email === null || typeof email === 'string') &&
    typeof notice.sessions_ended === 'number' &&
    typeof notice.devices_ended === 'number' &&
    isTexts(notice.device_names) &&
    isTexts(notice.passkeys_removed) &&
    isTexts(notice.keys_removed) &&
    typeof notice.runs_ended === 'number' &&
    typeof notice.links_voided === 'number' &&
    isApprover(notice.approver)
  );
}
