import { z } from 'zod';
import { at, define } from './endpoint.ts';
import { examples } from './examples.ts';
import {
  described,
  emailedToken,
  flag,
  int,
  ipAddress,
  model,
  shown,
  shownOrNull,
  texts,
  time,
  userAgent,
} from './fields.ts';

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
  'sign_in_link_issued',
] as const;
export type NoticeKind = (typeof noticeKinds)[number];

const noticeDisowning = z.object({
  token: emailedToken(examples.noticeToken),
  approver: described(
    z.boolean().optional(),
    'If true, undoes everything since the browser session began that approved the device or application, even if the notice has been used before.',
    true,
  ),
});

export const noticeToken = noticeDisowning.pick({ token: true });

const noticePreview = model('NoticePreview', 'What a security notice is about.', {
  kind: described(z.enum(noticeKinds), 'What the notice is about.', 'new_device'),
  subject: shown(
    'The subject of the email, in the language that the user reads.',
    'A new device signed in to your Latchkey account',
  ),
  created_at: described(time, 'When it happened.'),
  ip_address: ipAddress,
});
export type NoticePreview = z.infer<typeof noticePreview>;

const disownedNotice = model('DisownedNotice', 'What was undone. Using the link again returns the same.', {
  kind: described(z.enum(noticeKinds), 'What the notice was about.', 'new_device'),
  email: shownOrNull(
    'The email address that was restored. Null if the account keeps its address. Restoring an address ends every session and key of the account.',
    null,
  ),
  sessions_ended: int('Number of browser sessions ended.', 0),
  devices_ended: int(
    'Number of devices and applications signed out, including approved devices that had not signed in yet.',
    1,
  ),
  device_names: texts('Names of those devices, newest first, as provided by them. Unverified.', ['den']),
  passkeys_removed: texts('Names of the passkeys removed: those added since, and that of the sign-in.', []),
  keys_removed: texts('Names of the keys removed.', ['Nightly build']),
  runs_ended: int('Number of runs ended.', 0),
  links_voided: int('Number of open links voided: to sign in, and to change the email address.', 0),
  approver: described(
    z
      .object({
        created_at: described(time, 'When that browser signed in.'),
        ip_address: ipAddress,
        user_agent: userAgent,
        disowned: flag('Whether everything since that session began is undone.', false),
      })
      .nullable(),
    'The browser session that approved this device or application, if there is one. To undo everything since it began, send the token again with `approver: true`.',
  ),
});
export type DisownedNotice = z.infer<typeof disownedNotice>;

export const noticeEndpoints = {
  previewNotice: define({
    ...at('security-log', 'post', '/notices/preview'),
    title: 'Look at a security notice',
    notes: 'Changes nothing.',
    access: 'anyone',
    body: noticeToken,
    response: noticePreview,
    errors: { invalid_grant: 'The link is unknown or expired.' },
  }),
  disownNotice: define({
    ...at('security-log', 'post', '/notices/disown'),
    title: 'Answer a security notice',
    summary: 'Undoes everything since the session began that a security notice is about',
    notes:
      'This is what the link "This wasn\'t me" in a notice does. Sessions, keys and runs that began since then end, and passkeys added since then are removed, no matter who started or added them.',
    access: 'anyone',
    body: noticeDisowning,
    response: disownedNotice,
    errors: {
      invalid_grant: 'The link is unknown or expired.',
      conflict: 'Another account has the address that would be restored.',
    },
  }),
} as const;
