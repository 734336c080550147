import type { Event } from '@latchkey/contract/events';
import { escapeInvisible, untrustedText } from '@latchkey/contract/untrusted-text';

type Detail = Event['detail'];

const methods: Detail = {
  device_code: 'by approval in a browser',
  magic_link: 'by a link in a mail',
  email_code: 'by a code in a mail',
  passkey: 'with a passkey',
};

const endings: Detail = {
  logout: 'Signed out',
  other_session: 'A login was signed out from another one',
  token: 'A program ended its login',
  withdrawn: 'The approval of a terminal was taken back',
  replaced: 'A fresh login in the same browser took the place of the one before',
};

const profileFields: Detail = {
  name: 'name',
  avatar_url: 'picture',
  locale: 'language',
  time_zone: 'time zone',
};

const elsewhere: Detail = {
  network: 'network',
  program: 'program',
  'network program': 'network and another program',
};

/** Isolated, so that a name written from right to left moves no word around it. */
const named = ({ name }: Detail) => (name === undefined ? '' : ` “\u2068${untrustedText(name)}\u2069”`);

const sentences = {
  account_created: 'The account was made',
  login: ({ kind, method = '' }) =>
    `${kind === 'device' ? 'A terminal was signed in' : 'Signed in'} ${methods[method] ?? ''}`.trim(),
  device_approved: 'The login of a terminal was approved',
  device_denied: 'The login of a terminal was denied',
  passkey_added: (detail) => `The passkey${named(detail)} was added`,
  passkey_removed: (detail) =>
    `The passkey${named(detail)} was removed${detail['reason'] === 'disowned' ? ', by “this was not me” in a mail' : ''}`,
  passkey_renamed: (detail) =>
    detail['name'] === undefined ? 'Passkeys were renamed' : `A passkey was renamed to${named(detail)}`,
  passkey_clone_suspected: (detail) =>
    `The passkey${named(detail)} may exist as a copy; the login with it was ${detail['login'] === 'refused' ? 'refused' : 'let in'}`,
  refresh_race: 'Two programs renewed the same login at the same time',
  refresh_retry: 'A program asked again for a renewal whose answer it had lost',
  refresh_retry_elsewhere: ({ changed = '' }) =>
    `The renewal of a login was repeated from another ${elsewhere[changed] ?? 'place'}`,
  refresh_theft: 'A login was ended because its token was used twice: it may have been stolen',
  session_revoked: ({ reason = '' }) => endings[reason] ?? 'A login was ended',
  all_sessions_revoked: ({ by }) =>
    by === 'operator' ? 'Signed out everywhere by whoever runs this service' : 'Signed out everywhere',
  session_disowned: 'A login was ended by “this was not me” in a mail',
  profile_changed: ({ fields = '' }) => {
    const known = fields.split(' ').flatMap((field) => profileFields[field] ?? []);
    return known.length === 0 ? 'The profile was changed' : `The profile was changed: ${known.join(', ')}`;
  },
  email_change_requested: 'A change of the mail address was asked for',
  email_changed: 'The mail address was changed',
  email_change_undone: 'The change of the mail address was taken back, by “this was not me” in a mail',
  limit_reached: 'Too many tries: some were refused',
  account_disabled: 'The account was disabled by whoever runs this service',
  account_enabled: 'The account was enabled by whoever runs this service',
} satisfies Record<Event['type'], string | ((detail: Detail) => string)>;

/** The events that a person should look at twice. */
const alarming: ReadonlySet<Event['type']> = new Set([
  'passkey_clone_suspected',
  'refresh_retry_elsewhere',
  'refresh_theft',
  'session_disowned',
  'email_change_undone',
  'account_disabled',
]);

export const isAlarming = ({ type }: Event): boolean => alarming.has(type);

/** What happened, in a sentence without its full stop; names in it are harmless. */
export function eventText({ type, detail }: Event): string {
  // A service that is newer than this page knows more types.
  if (!Object.hasOwn(sentences, type)) return escapeInvisible(type.replaceAll('_', ' '));
  const sentence: string | ((detail: Detail) => string) = sentences[type];
  return typeof sentence === 'string' ? sentence : sentence(detail);
}
