import { z } from 'zod';
import { authorizationDetails } from './authorization-details.ts';
import { nextCursor, time } from './fields.ts';

export const loginKinds = ['browser', 'device'] as const;
export const loginMethods = ['device_code', 'magic_link', 'email_code', 'passkey'] as const;

/** A run is a session within another session or a key, made by token exchange. */
export const sessionKinds = [...loginKinds, 'run'] as const;

export const session = z
  .object({
    id: z.string(),
    kind: z.enum(sessionKinds),
    method: z.enum([...loginMethods, 'token_exchange']),
    client_name: z.string().nullable().meta({
      description: 'Of a device, as it provided it. Of a run, the service that acts in it, if any.',
    }),
    device_name: z.string().nullable(),
    ip_address: z.string().nullable(),
    user_agent: z.string().nullable(),
    created_at: time,
    last_used_at: time,
    current: z.boolean(),
    scope: z.string().meta({ description: 'What its tokens allow. `*` is everything the user may do.' }),
    resource: z
      .string()
      .nullable()
      .meta({ description: 'The only service that accepts its tokens, if any.' }),
    within: z.array(z.string()).optional().meta({
      description:
        'For a run, the ids of the sessions and the key that it is within, nearest first. It ends with each of them.',
    }),
    authorization_details: authorizationDetails
      .nullable()
      .optional()
      .meta({ description: 'For a run, what it allows in detail, if it is limited that way.' }),
  })
  .meta({ id: 'Session', description: "One of the user's sessions." });
export type Session = z.infer<typeof session>;

export const sessionList = z
  .object({ sessions: z.array(session), next_cursor: nextCursor })
  .meta({ id: 'SessionList' });
