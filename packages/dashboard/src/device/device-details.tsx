import type { PendingDevice } from '@latchkey/contract/device';
import { clock } from '../format.ts';
import { Timestamp } from '../ui/timestamp.tsx';
import { Untrusted, UntrustedHint } from '../ui/untrusted.tsx';

/** What is known about the device, for the user to compare with their own. */
export const DeviceDetails = ({ device, expiresAt }: { device: PendingDevice; expiresAt: Date }) => (
  <>
    <dl id="device-details">
      <dt>Network</dt>
      <dd id="network">
        {device.same_network ? (
          'Same as yours'
        ) : (
          <strong class="caution">
            Different from yours. Only expect this if the device is somewhere else, such as a remote server.
          </strong>
        )}
      </dd>
      <dt>IP address</dt>
      <dd id="ip-address">{device.ip_address ?? <span class="missing">Unknown</span>}</dd>
      <dt>Requested</dt>
      <dd id="requested-at">
        <Timestamp at={device.requested_at} />
      </dd>
      <dt>Expires</dt>
      <dd id="expires">
        <time dir="auto" dateTime={expiresAt.toISOString()}>
          {clock(expiresAt)}
        </time>
      </dd>
      <dt>Program</dt>
      <dd id="client-name">
        <Untrusted text={device.client_name} />
      </dd>
      <dt>Device</dt>
      <dd id="device-name">
        <Untrusted text={device.device_name} />
      </dd>
      <dt>User agent</dt>
      <dd id="user-agent">
        <Untrusted text={device.user_agent} />
      </dd>
    </dl>
    <UntrustedHint />
  </>
);
