// The settings of a service in these tests, and the budgets that somebody tries to exceed.

import type { TestSmtp } from '../support/smtp.ts';
import type { Budget } from './history.ts';

/** As their defaults are: `mails_by_pair` and `user_codes_by_user`. */
export const budgets = {
  'emails by pair': { quota: 5, windowMs: 900_000 },
  'user codes by user': { quota: 10, windowMs: 600_000 },
} as const satisfies Record<string, Budget>;

/** No client reaches these. */
const generousLimits = [
  'mails_by_recipient',
  'mails_by_client',
  'account_changes',
  'user_codes_by_client',
  'refreshes',
];

/** Every client says in `X-Forwarded-For` from where it comes. Nobody signs in so often that a sign-in would be old. */
export const settingsFor = ({
  origin,
  smtp,
}: {
  readonly origin: string;
  readonly smtp: TestSmtp;
}): Readonly<Record<string, string>> => ({
  LATCHKEY_BASE_URL: origin,
  LATCHKEY_SMTP_URL: smtp.url,
  LATCHKEY_TRUSTED_PROXIES: '127.0.0.1',
  LATCHKEY_RECENT_LOGIN_TTL: '86400',
  LATCHKEY_RATE_LIMITS: generousLimits.map((name) => `${name}=100000/60`).join(', '),
});
