import type { PendingDevice } from '@latchkey/contract/device';
import { texts } from '../texts.ts';
import { Details } from '../ui/details.tsx';
import { Icon } from '../ui/icon.tsx';
import { cautionIcon } from '../ui/icons.ts';
import { Timestamp } from '../ui/timestamp.tsx';
import { Untrusted, UntrustedHint } from '../ui/untrusted.tsx';

/** What is known about the device, for the user to compare with their own: a line each. The rest is folded. */
export const DeviceDetails = ({ device }: { device: PendingDevice }) => (
  <>
    <dl id="device-details" class="facts">
      <dt>{texts.device.network}</dt>
      <dd id="network">
        {device.same_network ? (
          texts.device.sameNetwork
        ) : (
          <strong class="caution">
            <Icon path={cautionIcon} /> {texts.device.differentNetwork}
          </strong>
        )}
      </dd>
      <dt>{texts.common.ipAddress}</dt>
      <dd id="ip-address">{device.ip_address ?? <span class="missing">{texts.common.unknown}</span>}</dd>
      <dt>{texts.common.program}</dt>
      <dd id="client-name">
        <Untrusted text={device.client_name} />
      </dd>
      <dt>{texts.common.device}</dt>
      <dd id="device-name">
        <Untrusted text={device.device_name} />
      </dd>
    </dl>
    {device.client_name === null && device.device_name === null ? null : <UntrustedHint />}
    <Details summary={texts.device.details}>
      <dl>
        <dt>{texts.device.requested}</dt>
        <dd id="requested-at">
          <Timestamp at={device.requested_at} />
        </dd>
        <dt>{texts.common.userAgent}</dt>
        <dd id="user-agent">
          <Untrusted text={device.user_agent} />
        </dd>
      </dl>
      {device.user_agent === null || device.client_name !== null || device.device_name !== null ? null : (
        <UntrustedHint />
      )}
    </Details>
  </>
);
