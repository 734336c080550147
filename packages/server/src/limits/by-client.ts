import type { Requester } from '../context.ts';
import { clientKey, networkKey } from '../http/client-address.ts';
import type { Demand } from './limiter.ts';
import type { LimitName } from './rules.ts';

/** Counts by the client's address, which the caller may be told of: nobody else counts into it. */
export const byClient = (limit: LimitName, requester: Requester): Demand => ({
  limit,
  key: clientKey(requester.ipAddress),
  told: true,
});

/** Counts one change of an account, whichever of its sessions makes it. */
export const accountChange = (userId: string): Demand => ({
  limit: 'account_changes',
  key: userId,
  told: true,
});

/**
 * What every mail that somebody asks for counts against. By the address written to nothing is told unless it is
 * refused: the rest would say how much mail others ask for.
 */
export const mailTo = (emailKey: string, requester: Requester): Demand[] => [
  byClient('mails_by_client', requester),
  { limit: 'mails_by_pair', key: `${networkKey(requester.ipAddress)} ${emailKey}` },
  { limit: 'mails_by_recipient', key: emailKey },
];
