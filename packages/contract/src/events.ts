import { z } from 'zod';
import { nextCursor, time } from './fields.ts';

/** What is recorded of an account. */
export const eventTypes = [
  'account_created',
  'login',
  'device_approved',
  'device_denied',
  'passkey_added',
  'passkey_removed',
  'passkey_renamed',
  'passkey_clone_suspected',
  'refresh_race',
  'refresh_retry',
  'refresh_retry_elsewhere',
  'refresh_theft',
  'session_revoked',
  'all_sessions_revoked',
  'session_disowned',
  'profile_changed',
  'email_change_requested',
  'email_changed',
  'email_change_undone',
  'limit_reached',
  'account_disabled',
  'account_enabled',
] as const;

export const event = z
  .object({
    id: z.string(),
    type: z.enum(eventTypes),
    created_at: time,
    session_id: z.string().nullable().meta({ description: 'The login it happened in or to.' }),
    ip_address: z.string().nullable(),
    user_agent: z.string().nullable(),
    detail: z
      .record(z.string(), z.string())
      .meta({ description: 'What else is to be said of this type; often empty.' }),
  })
  .meta({ id: 'Event', description: 'One entry of the security log of an account.' });
export type Event = z.infer<typeof event>;

export const eventList = z
  .object({ events: z.array(event), next_cursor: nextCursor })
  .meta({ id: 'EventList' });
