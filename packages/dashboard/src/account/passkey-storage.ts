import type { Passkey } from '@latchkey/contract/passkeys';
import { texts } from '../texts.ts';

const words = texts.account.passkeys;

type Storage = Pick<Passkey, 'device_type' | 'backed_up' | 'transports'>;

/** Describes where a passkey is stored, and so whether losing a device means losing it. */
export function describeStorage({ device_type, backed_up, transports }: Storage): {
  badge: string;
  description: string;
} {
  if (backed_up) return { badge: words.synced, description: words.syncedText };
  if (device_type === 'multi_device') return { badge: words.notBackedUp, description: words.notBackedUpText };
  const isInDevice = transports.includes('internal');
  const isOnKey = transports.some((transport) => ['usb', 'nfc', 'ble'].includes(transport));
  const description = isInDevice
    ? words.inDeviceText
    : isOnKey
      ? words.onSecurityKeyText
      : words.onOneDeviceText;
  return { badge: words.oneDevice, description };
}
