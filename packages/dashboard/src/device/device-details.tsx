import type { PendingDevice } from '@latchkey/contract/device';
import { texts } from '../texts.ts';
import { Details, Fact } from '../ui/details.tsx';
import { Icon } from '../ui/icon.tsx';
import { cautionIcon } from '../ui/icons.ts';
import { Timestamp } from '../ui/timestamp.tsx';
import { Untrusted, UntrustedHint } from '../ui/untrusted.tsx';

/** What is known about the device, for the user to compare with their own: a line each. The rest is folded. */
export const DeviceDetails = ({ device }: { device: PendingDevice }) => (
  <>
    <dl id="device-details" class="facts">
      <Fact label={texts.device.network} id="network">
        {device.same_network ? (
          texts.device.sameNetwork
        ) : (
          <strong class="caution">
            <Icon path={cautionIcon} /> {texts.device.differentNetwork}
          </strong>
        )}
      </Fact>
      <Fact label={texts.common.ipAddress} id="ip-address">
        {device.ip_address ?? <span class="missing">{texts.common.unknown}</span>}
      </Fact>
      <Fact label={texts.common.program} id="client-name">
        <Untrusted text={device.client_name} />
      </Fact>
      <Fact label={texts.common.device} id="device-name">
        <Untrusted text={device.device_name} />
      </Fact>
    </dl>
    {device.client_name === null && device.device_name === null ? null : <UntrustedHint />}
    <Details summary={texts.device.details}>
      <dl>
        <Fact label={texts.device.requested} id="requested-at">
          <Timestamp at={device.requested_at} />
        </Fact>
        <Fact label={texts.common.userAgent} id="user-agent">
          <Untrusted text={device.user_agent} />
        </Fact>
      </dl>
      {device.user_agent === null || device.client_name !== null || device.device_name !== null ? null : (
        <UntrustedHint />
      )}
    </Details>
  </>
);
