import { z } from 'zod';
import { authorizationDetails } from './authorization-details.ts';
import { examples } from './examples.ts';
import { deviceName, ipAddress, pageOf, time, userAgent } from './fields.ts';

/** `app` is an application that the user signed in to. */
export const loginKinds = ['browser', 'device', 'app'] as const;
export const loginMethods = ['device_code', 'browser_code', 'magic_link', 'email_code', 'passkey'] as const;

/** A run is a session within another session or a key, made by token exchange. */
export const sessionKinds = [...loginKinds, 'run'] as const;

export const sessionId = z
  .string()
  .meta({ description: 'The id of the session.', examples: [examples.sessionId] });

export const session = z
  .object({
    id: sessionId,
    kind: z.enum(sessionKinds).meta({
      description:
        'Where the user signed in: `app` for an application. `run` is a session within another one.',
      examples: ['device'],
    }),
    method: z
      .enum([...loginMethods, 'token_exchange'])
      .meta({ description: 'How the session was started.', examples: ['device_code'] }),
    client_name: z
      .string()
      .nullable()
      .meta({
        description:
          'The program on a device, as it named itself, unverified. For an application, its name; for a run, the service that acts in it. Otherwise null.',
        examples: ['Example CLI'],
      }),
    client_id: z
      .string()
      .optional()
      .meta({ description: 'The client_id of an application.', examples: [examples.serviceId] }),
    device_name: deviceName,
    ip_address: ipAddress,
    user_agent: userAgent,
    created_at: time.meta({ description: 'When the session was started.' }),
    last_used_at: time.meta({
      description: 'When the session was last used, up to five minutes late.',
      examples: ['2026-01-16T08:12:45.107Z'],
    }),
    current: z.boolean().meta({
      description: 'Whether this is the session that the request was made with.',
      examples: [true],
    }),
    scope: z.string().meta({
      description: 'What its tokens allow. `*` is everything the user may do.',
      examples: ['*'],
    }),
    resource: z
      .string()
      .nullable()
      .meta({ description: 'The only service that accepts its tokens. Null if any does.', examples: [null] }),
    within: z
      .array(z.string())
      .optional()
      .meta({
        description:
          'For a run, the ids of the sessions and the key that it is within, nearest first. It ends with each of them.',
        examples: [[examples.sessionId]],
      }),
    authorization_details: authorizationDetails
      .nullable()
      .optional()
      .meta({
        description: 'For a run, what it allows in detail. Null if it is not limited that way.',
        examples: [[{ type: 'project_access', projects: ['engine'] }]],
      }),
  })
  .meta({ id: 'Session', description: "One of the user's sessions." });
export type Session = z.infer<typeof session>;

export const sessionList = pageOf('SessionList', "A page of the user's sessions.", {
  sessions: z.array(session).meta({ description: 'The active sessions, newest first.' }),
});
