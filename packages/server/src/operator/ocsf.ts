// Events of the security log in the Open Cybersecurity Schema Framework, version 1.3.0. @see https://schema.ocsf.io/1.3.0

import manifest from '../../package.json' with { type: 'json' };
import type { EventType } from '../security-log/events/events.ts';
import type { PositionedEvent } from '../security-log/events/reading.ts';

const classes = {
  accountChange: { class_uid: 3001, class_name: 'Account Change' },
  authentication: { class_uid: 3002, class_name: 'Authentication' },
} as const;

const activities: Readonly<Record<keyof typeof classes, Readonly<Record<string, number>>>> = {
  accountChange: { Create: 1, Enable: 2, Disable: 5, 'MFA Factor Enable': 10, 'MFA Factor Disable': 11 },
  authentication: { Logon: 1, Logoff: 2, 'Service Ticket Renew': 5 },
};

/** The activity of events that have none of their own in the schema; `activity_name` then says what happened. */
const otherActivity = 99;

const severities = { Informational: 1, Low: 2, Medium: 3, High: 4 } as const;
const statuses = { Success: 1, Failure: 2 } as const;

interface Mapping {
  readonly class: keyof typeof classes;
  readonly activity_id: number;
  readonly activity_name: string;
  readonly severity: keyof typeof severities;
  readonly status: keyof typeof statuses;
}

/** What events of a class are called in the schema. */
const mappingTo =
  (className: Mapping['class']) =>
  (activity_name: string, rest: Partial<Pick<Mapping, 'severity' | 'status'>> = {}): Mapping => ({
    class: className,
    activity_id: activities[className][activity_name] ?? otherActivity,
    activity_name,
    severity: 'Informational',
    status: 'Success',
    ...rest,
  });

const account = mappingTo('accountChange');
const signIn = mappingTo('authentication');

const mappings: Readonly<Record<EventType, Mapping>> = {
  account_created: account('Create'),
  login: signIn('Logon'),
  sign_in_failed: signIn('Logon', { severity: 'Low', status: 'Failure' }),
  device_approved: signIn('Device Approved'),
  device_denied: signIn('Device Denied', { status: 'Failure' }),
  passkey_added: account('MFA Factor Enable'),
  passkey_removed: account('MFA Factor Disable'),
  passkey_renamed: account('Passkey Renamed'),
  passkey_clone_suspected: signIn('Logon', { severity: 'High', status: 'Failure' }),
  key_created: account('Key Created'),
  key_removed: account('Key Removed'),
  key_used: signIn('Key Used'),
  key_refused: signIn('Key Used', { status: 'Failure' }),
  run_started: signIn('Run Started'),
  run_ended: signIn('Run Ended'),
  refresh_race: signIn('Service Ticket Renew', { severity: 'Low', status: 'Failure' }),
  refresh_retry: signIn('Service Ticket Renew'),
  refresh_retry_elsewhere: signIn('Service Ticket Renew', { severity: 'Medium' }),
  refresh_theft: signIn('Service Ticket Renew', { severity: 'High', status: 'Failure' }),
  code_replayed: signIn('Authorization Code Replayed', { severity: 'High', status: 'Failure' }),
  session_revoked: signIn('Logoff'),
  all_sessions_revoked: signIn('Logoff'),
  session_disowned: signIn('Logoff', { severity: 'High' }),
  profile_changed: account('Profile Changed'),
  email_change_requested: account('Email Change Requested'),
  email_changed: account('Email Changed', { severity: 'Low' }),
  email_change_undone: account('Email Change Undone', { severity: 'Medium' }),
  membership_changed: account('Membership Changed'),
  limit_reached: signIn('Rate Limit Reached', { severity: 'Medium', status: 'Failure' }),
  account_disabled: account('Disable'),
  account_enabled: account('Enable'),
};

/** Why something ended that only the operator can end, although the detail does not name the operator. */
const reasonsOfOperator: readonly unknown[] = ['taken_over', 'service_revoked'];

/** Who acted: the operator, a service, or else the holder of the session. */
function actorOf({ detail, user_id }: PositionedEvent, session: object): object {
  const { by, reason, service_id } = detail;
  if (by === 'operator' || reasonsOfOperator.includes(reason)) return { app_name: 'latchkey-server' };
  if (by === 'service') return { app_uid: service_id };
  if (`${by}`.startsWith('svc_')) return { app_uid: by };
  return { user: { uid: user_id }, ...session };
}

/** An event as an object of the schema. `metadata.sequence` is its position; `unmapped` holds what the schema has no place for. */
export function ocsfEvent(event: PositionedEvent): Record<string, unknown> {
  const { class: className, activity_id, activity_name, severity, status } = mappings[event.type];
  const { class_uid, class_name } = classes[className];
  const session = event.session_id === null ? {} : { session: { uid: event.session_id } };
  return {
    category_uid: 3,
    category_name: 'Identity & Access Management',
    class_uid,
    class_name,
    activity_id,
    activity_name,
    type_uid: class_uid * 100 + activity_id,
    type_name: `${class_name}: ${activity_id === otherActivity ? 'Other' : activity_name}`,
    severity_id: severities[severity],
    severity,
    status_id: statuses[status],
    status,
    time: Date.parse(event.created_at),
    metadata: {
      version: '1.3.0',
      product: { name: 'Latchkey', vendor_name: 'Latchkey', version: manifest.version },
      uid: event.id,
      sequence: event.position,
      event_code: event.type,
    },
    user: { uid: event.user_id },
    ...(className === 'authentication' ? { service: { name: 'Latchkey' }, ...session } : {}),
    actor: actorOf(event, session),
    ...(event.ip_address === null ? {} : { src_endpoint: { ip: event.ip_address } }),
    ...(event.user_agent === null ? {} : { http_request: { user_agent: event.user_agent } }),
    unmapped: { seq: event.seq, mac: event.mac, detail: event.detail },
  };
}
