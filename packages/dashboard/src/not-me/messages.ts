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
