import type { PendingDevice } from '@latchkey/contract/device';
import { Details } from '../ui/details.tsx';
import { Icon } from '../ui/icon.tsx';
import { cautionIcon } from '../ui/icons.ts';
import { Timestamp } from '../ui/timestamp.tsx';
import { Untrusted, UntrustedHint } from '../ui/untrusted.tsx';

/** What is known about the device, for the user to compare with their own: a line each. The rest is folded. */
export const DeviceDetails = ({ device }: { device: PendingDevice }) => (
  <>
    <dl id="device-details" class="facts">
      <dt>Network</dt>
      <dd id="network">
        {device.same_network ? (
          'Same as yours'
        ) : (
          <strong class="caution">
            <Icon path={cautionIcon} /> Different from yours
          </strong>
        )}
      </dd>
      <dt>IP address</dt>
      <dd id="ip-address">{device.ip_address ?? <span class="missing">Unknown</span>}</dd>
      <dt>Program</dt>
      <dd id="client-name">
        <Untrusted text={device.client_name} />
      </dd>
      <dt>Device</dt>
      <dd id="device-name">
        <Untrusted text={device.device_name} />
      </dd>
    </dl>
    <Details summary="Details">
      <dl>
        <dt>Requested</dt>
        <dd id="requested-at">
          <Timestamp at={device.requested_at} />
        </dd>
        <dt>User agent</dt>
        <dd id="user-agent">
          <Untrusted text={device.user_agent} />
        </dd>
      </dl>
      <UntrustedHint />
    </Details>
  </>
);
