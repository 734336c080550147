import { addressKey, networkKey } from '../values/client-address.ts';
import type { ClientInfo } from '../values/client-info.ts';
import type { RateLimitKey } from './limiter.ts';
import type { RateLimitName } from './rules.ts';

/** Counts by the client's address, which the caller may be told of: nobody else counts into it. */
export const byClient = (limit: RateLimitName, client: ClientInfo): RateLimitKey => ({
  limit,
  key: addressKey(client.ipAddress),
  isReported: true,
});

/** Counts one change of an account, whichever of its sessions makes it. */
export const accountChange = (userId: string): RateLimitKey => ({
  limit: 'account_changes',
  key: userId,
  isReported: true,
});
/** The mailbox of an address: what stands behind a `+` in its local part does not make it another one. */
const mailboxOf = (emailKey: string): string => emailKey.replace(/\+.*@/s, '@');

/**
 * What every mail that somebody asks for counts against. Nothing is told unless it is refused: it would say how much
 * mail others ask for, or whether the browser is known.
 */
export const mailLimits = (emailKey: string, client: ClientInfo): RateLimitKey[] => [
  { limit: 'mails_by_client', key: addressKey(client.ipAddress) },
  { limit: 'mails_by_pair', key: `${networkKey(client.ipAddress)} ${mailboxOf(emailKey)}` },
  { limit: 'mails_by_recipient', key: mailboxOf(emailKey) },
];

/**
 * What a mail counts against instead where a browser asks for it that signed in to the address before: strangers
 * cannot use it up. A refusal is the same as for a browser that is not known.
 */
export const mailByKnownBrowser = (emailKey: string, browser: string): RateLimitKey[] => [
  {
    limit: 'mails_by_known_browser',
    key: `${browser} ${mailboxOf(emailKey)}`,
    reportedAs: 'mails_by_pair',
  },
];
