import { z } from 'zod';
import { token } from './fields.ts';

/** What a notice by mail tells of. */
export const noticeKinds = [
  'new_device',
  'new_browser',
  'passkey_added',
  'passkey_removed',
  'email_changed',
  'theft_stopped',
  'refresh_repeated_elsewhere',
] as const;
export type NoticeKind = (typeof noticeKinds)[number];

export const noticeDisowning = z.object({ token });

export const disownedNotice = z
  .object({
    kind: z.enum(noticeKinds),
    email: z.string().nullable().meta({
      description: 'The address that was put back, if that login had changed it; else null.',
    }),
  })
  .meta({ id: 'DisownedNotice', description: 'The same again when the link is used again.' });
export type DisownedNotice = z.infer<typeof disownedNotice>;
