import type { Requester } from '../context.ts';
import { sameNetwork } from '../http/client-address.ts';

interface Origin {
  readonly ip_address: string | null;
  readonly user_agent: string | null;
}

/** A browser by its words without the numbers in them, which change with every update. */
const browserOf = (userAgent: string | null): string => (userAgent ?? '').replace(/[\d._]+/g, '');

/** Whether one of the earlier logins came from the same network (/24 or /64) with the same browser. */
export const isFamiliar = ({ ipAddress, userAgent }: Requester, earlier: readonly Origin[]): boolean =>
  earlier.some(
    (login) =>
      browserOf(login.user_agent) === browserOf(userAgent) &&
      (login.ip_address === ipAddress || sameNetwork(login.ip_address, ipAddress)),
  );
