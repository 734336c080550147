import { sameNetwork } from '../platform/values/client-address.ts';
import type { ClientInfo } from '../platform/values/client-info.ts';

interface Place {
  readonly ip_address: string | null;
  readonly user_agent: string | null;
}

/** A program by the words of its user agent without the numbers, which change with every update. */
export const programOf = (userAgent: string | null): string => (userAgent ?? '').replace(/[\d._]+/g, '');

/** Whether one of the earlier logins came from the same network (/24 or /64) with the same browser. */
export const isKnownPlace = ({ ipAddress, userAgent }: ClientInfo, earlier: readonly Place[]): boolean =>
  earlier.some(
    (login) =>
      programOf(login.user_agent) === programOf(userAgent) &&
      (login.ip_address === ipAddress || sameNetwork(login.ip_address, ipAddress)),
  );
