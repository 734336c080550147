import { addressKey, networkKey } from '../values/client-address.ts';
import type { ClientInfo } from '../values/client-info.ts';
import type { RateLimitKey } from './limiter.ts';
import type { RateLimitName } from './rules.ts';

/** Counts by client address. Responses may report the count, because only this client contributes to it. */
export const byClient = (limit: RateLimitName, client: ClientInfo): RateLimitKey => ({
  limit,
  key: addressKey(client.ipAddress),
  isReported: true,
});

/** Counts a change of an account, across all its sessions. */
export const accountChange = (userId: string): RateLimitKey => ({
  limit: 'account_changes',
  key: userId,
  isReported: true,
});

/** The mailbox of an address: subaddresses such as `ada+shop@` belong to the same one. */
const mailboxOf = (emailKey: string): string => emailKey.replace(/\+.*@/s, '@');

/**
 * The limits of a requested mail. Responses report them only with a refusal: otherwise they would reveal how many mails
 * others request, or whether the browser is known.
 */
export const mailLimits = (emailKey: string, client: ClientInfo): RateLimitKey[] => [
  { limit: 'mails_by_client', key: addressKey(client.ipAddress) },
  { limit: 'mails_by_pair', key: `${networkKey(client.ipAddress)} ${mailboxOf(emailKey)}` },
  { limit: 'mails_by_recipient', key: mailboxOf(emailKey) },
];

/**
 * The limit of a mail requested by a browser that signed in to the address before. It replaces `mailLimits`, so strangers
 * cannot exhaust it. A refusal looks the same as for an unknown browser.
 */
export const mailByKnownBrowser = (emailKey: string, browser: string): RateLimitKey[] => [
  {
    limit: 'mails_by_known_browser',
    key: `${browser} ${mailboxOf(emailKey)}`,
    reportedAs: 'mails_by_pair',
  },
];
