import { z } from 'zod';
import { examples } from './examples.ts';
import { ipAddress, time, token, userAgent } from './fields.ts';

/** The kinds of security notices. */
export const noticeKinds = [
  'new_device',
  'new_browser',
  'new_app',
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
  token: token.meta({
    description: 'The token in the link "This wasn\'t me" of the notice, after `#token=`.',
    examples: [examples.noticeToken],
  }),
  approver: z
    .boolean()
    .optional()
    .meta({
      description:
        'If true, also disowns the browser session that approved the device, even if the notice has been used before.',
      examples: [true],
    }),
});

export const noticeToken = noticeDisowning.pick({ token: true });

export const noticePreview = z
  .object({
    kind: z.enum(noticeKinds).meta({ description: 'What the notice is about.', examples: ['new_device'] }),
    subject: z.string().meta({
      description: 'The subject of the email, in the language that the user reads.',
      examples: ['A new device signed in to your Latchkey account'],
    }),
    created_at: time.meta({ description: 'When it happened.' }),
    ip_address: ipAddress,
  })
  .meta({ id: 'NoticePreview', description: 'What a security notice is about.' });
export type NoticePreview = z.infer<typeof noticePreview>;

export const disownedNotice = z
  .object({
    kind: z.enum(noticeKinds).meta({ description: 'What the notice was about.', examples: ['new_device'] }),
    email: z
      .string()
      .nullable()
      .meta({
        description:
          'The email address that was restored, if the session or one started from it had changed it. Otherwise null. Restoring an address ends all sessions of the account and removes the passkeys added since.',
        examples: [null],
      }),
    sessions_ended: z.int().meta({ description: 'Number of browser sessions ended.', examples: [0] }),
    devices_ended: z.int().meta({
      description:
        'Number of devices and applications signed out, including approved devices that had not signed in yet.',
      examples: [1],
    }),
    device_names: z.array(z.string()).meta({
      description: 'Names of up to 20 of those devices, newest first, as provided by them. Unverified.',
      examples: [['den']],
    }),
    passkeys_removed: z.array(z.string()).meta({
      description: 'Names of the passkeys removed: those that were added, and the one used to sign in.',
      examples: [[]],
    }),
    keys_removed: z
      .array(z.string())
      .meta({ description: 'Names of the keys removed.', examples: [['Nightly build']] }),
    approver: z
      .object({
        created_at: time.meta({ description: 'When that browser signed in.' }),
        ip_address: ipAddress,
        user_agent: userAgent,
        disowned: z
          .boolean()
          .meta({ description: 'Whether that session is disowned too.', examples: [false] }),
      })
      .nullable()
      .meta({
        description:
          'The browser session that approved this device or application, if there is one. To disown it too, send the token again with `approver: true`.',
      }),
  })
  .meta({
    id: 'DisownedNotice',
    description: 'What was undone. Using the link again returns the same.',
  });
export type DisownedNotice = z.infer<typeof disownedNotice>;
