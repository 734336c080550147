import { z } from 'zod';
import { time, token } from './fields.ts';

/** What a notice by mail tells of. */
export const noticeKinds = [
  'new_device',
  'new_browser',
  'passkey_added',
  'passkey_removed',
  'email_changed',
  'theft_stopped',
] as const;
export type NoticeKind = (typeof noticeKinds)[number];

export const noticeDisowning = z.object({
  token,
  approver: z.boolean().optional().meta({
    description: 'With true, the browser login that approved the device is disowned as well, now or later.',
  }),
});

export const disownedNotice = z
  .object({
    kind: z.enum(noticeKinds),
    email: z.string().nullable().meta({
      description:
        'The address that was put back, if that login or one that came of it had changed it; else null. With an address put back, every login of the account has ended.',
    }),
    sessions_ended: z.int().meta({ description: 'How many browser logins were ended.' }),
    devices_ended: z.int().meta({
      description: 'How many devices were signed out, or had been approved and will not be signed in.',
    }),
    device_names: z.array(z.string()).meta({
      description: 'What those devices call themselves, as far as they said: the newest 20. Unverified.',
    }),
    passkeys_removed: z
      .array(z.string())
      .meta({ description: 'The names of the passkeys that were removed.' }),
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
          'The browser login that approved this device, if there is one to disown: send the token again with `approver: true`.',
      }),
  })
  .meta({
    id: 'DisownedNotice',
    description: 'What was undone. The same again when the link is used again.',
  });
export type DisownedNotice = z.infer<typeof disownedNotice>;
