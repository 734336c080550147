import { sameNetwork } from '../platform/values/client-address.ts';
import type { ClientInfo } from '../platform/values/client-info.ts';
import { programOf } from '../platform/values/user-agent.ts';

interface Place {
  readonly ip_address: string | null;
  readonly user_agent: string | null;
}

/** Whether one of the earlier sign-ins came from the same network (/24 or /64) and the same browser. */
export const isKnownPlace = ({ ipAddress, userAgent }: ClientInfo, earlier: readonly Place[]): boolean =>
  earlier.some(
    (place) =>
      programOf(place.user_agent) === programOf(userAgent) &&
      (place.ip_address === ipAddress || sameNetwork(place.ip_address, ipAddress)),
  );
