import type { Passkey } from '@latchkey/contract/passkeys';

type Storage = Pick<Passkey, 'device_type' | 'backed_up' | 'transports'>;

/** What a person should know of where a passkey is kept: whether it is lost together with a device. */
export function describeStorage({ device_type, backed_up, transports }: Storage): {
  badge: string;
  sentence: string;
} {
  if (backed_up) {
    return {
      badge: 'Backed up',
      sentence: 'Kept by a password manager, which brings it to your other devices and has a copy of it.',
    };
  }
  if (device_type === 'multi_device') {
    return {
      badge: 'Not backed up yet',
      sentence:
        'Kept by a password manager that could bring it to other devices, but has no copy of it yet. If the device is lost, so is this passkey.',
    };
  }
  const isInDevice = transports.includes('internal');
  const isOnKey = transports.some((transport) => ['usb', 'nfc', 'ble'].includes(transport));
  const where = isInDevice
    ? 'on the device where it was made'
    : isOnKey
      ? 'on a security key'
      : 'on one device';
  return {
    badge: 'Only on one device',
    sentence: `Kept only ${where}. If that is lost, so is this passkey; a mail still signs you in.`,
  };
}
