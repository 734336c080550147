import type { Event } from '@latchkey/contract/events';
import { escapeInvisible, untrustedText } from '@latchkey/contract/untrusted-text';
import { signInMethods } from './sign-in-methods.ts';

type Detail = Event['detail'];

/** An event of a later release may name a method that this page does not know. */
const methods: Detail = signInMethods;

const sessionEndings: Detail = {
  logout: 'Signed out',
  other_session: 'Session signed out from another session',
  token: 'Session ended by the program using it',
  withdrawn: 'Device approval withdrawn',
  replaced: 'Session replaced by a new sign-in in the same browser',
  taken_over: 'Session ended, because another service now provides what it had access to',
};

const keyEndings: Detail = {
  logout: ' by the program using it',
  token: ' by the program using it',
  taken_over: ', because another service now provides what it had access to',
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
  'network program': 'network and program',
};

const roles: Detail = { owner: 'an owner', admin: 'an admin', member: 'a member' };

/** The name in quotes, isolated so that right-to-left text doesn't reorder the words around it. */
const named = ({ name }: Detail) => (name === undefined ? '' : ` “\u2068${untrustedText(name)}\u2069”`);

/** The service that acts in a run, if one does. */
const byService = ({ service_name: name }: Detail) => (name === undefined ? '' : ` of${named({ name })}`);

const texts = {
  account_created: 'Account created',
  login: ({ kind, method = '' }) =>
    `${kind === 'device' ? 'Device signed in' : 'Signed in'} ${methods[method] ?? ''}`.trim(),
  device_approved: 'Device sign-in approved',
  device_denied: 'Device sign-in denied',
  passkey_added: (detail) => `Passkey${named(detail)} added`,
  passkey_removed: (detail) =>
    `Passkey${named(detail)} removed${detail['reason'] === 'disowned' ? ", because you reported “This wasn't me”" : ''}`,
  passkey_renamed: (detail) =>
    detail['name'] === undefined ? 'Passkeys renamed' : `Passkey renamed to${named(detail)}`,
  passkey_clone_suspected: (detail) =>
    `Passkey${named(detail)} may have been copied; the sign-in was ${detail['login'] === 'refused' ? 'blocked' : 'allowed'}`,
  key_created: (detail) => `Key${named(detail)} created`,
  key_removed: (detail) => `Key${named(detail)} removed${keyEndings[detail['reason'] ?? ''] ?? ''}`,
  run_started: (detail) => `Run started${byService(detail)}`,
  run_ended: (detail) => `Run ended${byService(detail)}`,
  refresh_race: 'Two programs refreshed the same session at the same time',
  refresh_retry: 'Session refresh retried after a lost response',
  refresh_retry_elsewhere: ({ changed = '' }) =>
    `Session refresh retried from a different ${elsewhere[changed] ?? 'place'}`,
  refresh_theft: 'Session ended because its token was used twice and may have been stolen',
  session_revoked: ({ reason = '' }) => sessionEndings[reason] ?? 'Session ended',
  all_sessions_revoked: ({ by }) =>
    by === 'operator' ? 'Signed out everywhere by an administrator' : 'Signed out everywhere',
  session_disowned: "Session ended, because you reported “This wasn't me”",
  profile_changed: ({ fields = '' }) => {
    const known = fields.split(' ').flatMap((field) => profileFields[field] ?? []);
    return known.length === 0 ? 'Profile updated' : `Profile updated: ${known.join(', ')}`;
  },
  email_change_requested: 'Email change requested',
  email_changed: 'Email changed',
  email_change_undone: "Email change undone, because you reported “This wasn't me”",
  membership_changed: (detail) => {
    const { role = '', former_role, reason } = detail;
    if (reason === 'organization_deleted') return `Organization${named(detail)} deleted`;
    const organization = `organization${named(detail)}`;
    const as = roles[role];
    if (as === undefined)
      return role === '' ? `Removed from the ${organization}` : 'Organization role changed';
    return former_role === undefined
      ? `Added to the ${organization} as ${as}`
      : `Now ${as} of the ${organization}`;
  },
  limit_reached: 'Too many attempts; some were blocked',
  account_disabled: 'Account disabled by an administrator',
  account_enabled: 'Account enabled by an administrator',
} satisfies Record<Event['type'], string | ((detail: Detail) => string)>;

const suspicious: ReadonlySet<Event['type']> = new Set([
  'passkey_clone_suspected',
  'refresh_retry_elsewhere',
  'refresh_theft',
  'session_disowned',
  'email_change_undone',
  'account_disabled',
]);

/** Whether the person should take a second look at this event. */
export const isSuspicious = ({ type }: Event): boolean => suspicious.has(type);

/** What happened, without a full stop. Names in it are escaped; the text itself is not markup. */
export function eventText({ type, detail }: Event): string {
  // A newer release of the service may send types that this page doesn't know.
  if (!Object.hasOwn(texts, type)) return escapeInvisible(type.replaceAll('_', ' '));
  const text: string | ((detail: Detail) => string) = texts[type];
  return typeof text === 'string' ? text : text(detail);
}
