import { z } from 'zod';
import { time, token } from './fields.ts';

/** The kinds of security notices. */
export const noticeKinds = [
  'new_device',
  'new_browser',
  'passkey_added',
  'passkey_removed',
  'key_added',
  'key_removed',
  'email_changed',
  'theft_stopped',
  'refresh_repeated_elsewhere',
] as const;
export type NoticeKind = (typeof noticeKinds)[number];

export const noticeDisowning = z.object({
  token,
  approver: z.boolean().optional().meta({
    description:
      'If true, also disowns the browser session that approved the device, even if the notice has been used before.',
  }),
});

export const disownedNotice = z
  .object({
    kind: z.enum(noticeKinds),
    email: z.string().nullable().meta({
      description:
        'The email address that was restored, if the session or one started from it had changed it. Otherwise null. Restoring an address ends all sessions of the account.',
    }),
    sessions_ended: z.int().meta({ description: 'Number of browser sessions ended.' }),
    devices_ended: z.int().meta({
      description: 'Number of devices signed out, including approved devices that had not signed in yet.',
    }),
    device_names: z.array(z.string()).meta({
      description: 'Names of up to 20 of those devices, newest first, as provided by them. Unverified.',
    }),
    passkeys_removed: z.array(z.string()).meta({ description: 'Names of the passkeys removed.' }),
    keys_removed: z.array(z.string()).meta({ description: 'Names of the keys removed.' }),
    approver: z
      .object({
        created_at: time,
        ip_address: z.string().nullable(),
        user_agent: z.string().nullable(),
        disowned: z.boolean(),
      })
      .nullable()
      .meta({
        description:
          'The browser session that approved this device, if there is one. To disown it too, send the token again with `approver: true`.',
      }),
  })
  .meta({
    id: 'DisownedNotice',
    description: 'What was undone. Using the link again returns the same.',
  });
export type DisownedNotice = z.infer<typeof disownedNotice>;
