import { z } from 'zod';
import { at, define, ownList } from './endpoint.ts';
import { examples } from './examples.ts';
import { described, ipAddress, model, pageOf, shown, shownOrNull, time, userAgent } from './fields.ts';

export const eventTypes = [
  'account_created',
  'login',
  'sign_in_failed',
  'device_approved',
  'device_denied',
  'passkey_added',
  'passkey_removed',
  'passkey_renamed',
  'passkey_clone_suspected',
  'key_created',
  'key_removed',
  'key_used',
  'key_refused',
  'run_started',
  'run_ended',
  'refresh_race',
  'refresh_retry',
  'refresh_retry_elsewhere',
  'refresh_theft',
  'code_replayed',
  'session_revoked',
  'all_sessions_revoked',
  'session_disowned',
  'profile_changed',
  'email_change_requested',
  'email_changed',
  'email_change_undone',
  'membership_changed',
  'limit_reached',
  'sign_in_link_issued',
  'account_disabled',
  'account_enabled',
] as const;

export const event = model('Event', "An entry of the account's security log.", {
  id: shown('The id of the event.', examples.eventId),
  type: described(z.enum(eventTypes), 'What happened.', 'login'),
  created_at: time.meta({ description: 'When it happened.' }),
  session_id: shownOrNull('The session in or to which it happened. Null if none.', examples.sessionId),
  ip_address: ipAddress,
  user_agent: userAgent,
  detail: described(
    z.record(z.string(), z.union([z.string(), z.int()])),
    'Details that depend on the type. Often empty.',
    { method: 'passkey', kind: 'browser' },
  ),
});
export type Event = z.infer<typeof event>;

export const eventList = pageOf('EventList', 'A page of the security log.', {
  events: z.array(event).meta({ description: 'The events, newest first.' }),
});

export const eventEndpoints = {
  listEvents: define({
    ...ownList,
    ...at('security-log', 'get', '/events'),
    title: 'List events',
    summary: "Lists the events of the user's security log, newest first",
    response: eventList,
  }),
} as const;
