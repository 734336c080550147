import { z } from 'zod';
import { nextCursor, time } from './fields.ts';

export const sessionKinds = ['browser', 'device'] as const;
export const loginMethods = ['device_code', 'magic_link', 'email_code', 'passkey'] as const;

export const session = z
  .object({
    id: z.string(),
    kind: z.enum(sessionKinds),
    method: z.enum(loginMethods),
    client_name: z.string().nullable(),
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
  })
  .meta({ id: 'Session', description: "One of the user's sessions." });
export type Session = z.infer<typeof session>;

export const sessionList = z
  .object({ sessions: z.array(session), next_cursor: nextCursor })
  .meta({ id: 'SessionList' });
