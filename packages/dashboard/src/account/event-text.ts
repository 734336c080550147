import type { Event } from '@latchkey/contract/events';
import { escapeInvisible, untrustedText } from '@latchkey/contract/untrusted-text';
import { listOf } from '../format.ts';
import { fill, texts } from '../texts.ts';

type Detail = Readonly<Record<string, string>>;

const words = texts.account.events;

// A later release of the service may send values that this page doesn't know.
const methods: Detail = texts.account.methods;
const signInFailures: Detail = words.signInFailures;
const sessionEndings: Detail = words.sessionEndings;
const profileFields: Detail = words.profileFields;
const roles: Detail = texts.account.organizations.roles;
const keyEndings: Detail = {
  logout: words.keyRemovedByProgram,
  token: words.keyRemovedByProgram,
};

/** The name in quotes, isolated so that right-to-left text doesn't reorder the words around it. */
const quoted = (name: string) => fill(words.quoted, { name: `\u2068${untrustedText(name)}\u2069` });

/** Fills in the quoted name. Without one, the words close up. */
const named = (text: string, name: string | undefined, values: Detail = {}) =>
  fill(text, { ...values, name: name === undefined ? '' : quoted(name) })
    .replace('  ', ' ')
    .trim();

function membershipText({ name, role: key, former_role, reason }: Detail): string {
  if (reason === 'organization_deleted') return named(words.organizationDeleted, name);
  if (key === undefined) return named(words.organizationLeft, name);
  const role = roles[key];
  if (role === undefined) return words.membership_changed;
  return named(former_role === undefined ? words.organizationJoined : words.organizationRole, name, { role });
}

/** Texts that depend on the details of the event. All others are among the words, by the type of the event. */
const detailedTexts: Partial<Record<Event['type'], (detail: Detail) => string>> = {
  login: ({ kind, method = '' }) =>
    fill(kind === 'device' ? words.deviceLogin : words.login, { method: methods[method] ?? '' }).trim(),
  sign_in_failed: ({ method = '', count = '1' }) => {
    const text = signInFailures[method] ?? words.sign_in_failed;
    return count === '1' ? text : fill(words.repeated, { text, count });
  },
  passkey_removed: ({ name, reason }) =>
    named(reason === 'disowned' ? words.passkeyDisowned : words.passkey_removed, name),
  passkey_renamed: ({ name }) =>
    name === undefined ? words.passkey_renamed : named(words.passkeyRenamedTo, name),
  passkey_clone_suspected: ({ name, login }) =>
    named(login === 'refused' ? words.passkeyCloneRefused : words.passkey_clone_suspected, name),
  key_removed: ({ name, reason = '' }) => named(keyEndings[reason] ?? words.key_removed, name),
  key_refused: ({ name, claim }) =>
    claim === undefined
      ? named(words.key_refused, name)
      : named(words.keyRefusedClaim, name, { claim: quoted(claim) }),
  run_started: ({ service_name }) => named(words.run_started, service_name),
  run_ended: ({ service_name }) => named(words.run_ended, service_name),
  session_revoked: ({ reason = '' }) => sessionEndings[reason] ?? words.session_revoked,
  all_sessions_revoked: ({ by }) =>
    by === undefined ? words.all_sessions_revoked : words.signedOutByAdministrator,
  profile_changed: ({ fields = '' }) => {
    const known = fields.split(' ').flatMap((field) => profileFields[field] ?? []);
    return known.length === 0
      ? words.profile_changed
      : fill(words.profileChangedFields, { fields: listOf(known) });
  },
  membership_changed: membershipText,
};

const suspicious: ReadonlySet<Event['type']> = new Set([
  'passkey_clone_suspected',
  'refresh_retry_elsewhere',
  'refresh_theft',
  'code_replayed',
  'session_disowned',
  'email_change_undone',
  'account_disabled',
]);

/** Whether the person should take a second look at this event. */
export const isSuspicious = ({ type }: Event): boolean => suspicious.has(type);

/** What happened, without a full stop. Names in it are escaped; the text itself is not markup. */
export function eventText({ type, ...event }: Pick<Event, 'type' | 'detail'>): string {
  // A newer release of the service may send types that this page doesn't know.
  if (!isKnown(type)) return escapeInvisible(type.replaceAll('_', ' '));
  const detail = Object.fromEntries(Object.entries(event.detail).map(([name, value]) => [name, `${value}`]));
  return detailedTexts[type]?.(detail) ?? named(words[type], detail['name']);
}

const isKnown = (type: string): boolean =>
  Object.hasOwn(words, type) && typeof words[type as keyof typeof words] === 'string';
