import { addressKey } from '../values/client-address.ts';
import type { ClientInfo } from '../values/client-info.ts';
import type { RateLimitKey } from './limiter.ts';
import type { RateLimitName } from './rules.ts';

/** Counts by client address. Responses may report the count, because only this client contributes to it. */
export const byClient = (limit: RateLimitName, client: ClientInfo): RateLimitKey => ({
  limit,
  key: addressKey(client.ipAddress),
  isReported: true,
});
