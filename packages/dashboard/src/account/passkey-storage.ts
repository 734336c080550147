import type { Passkey } from '@latchkey/contract/passkeys';

type Storage = Pick<Passkey, 'device_type' | 'backed_up' | 'transports'>;

/** Describes where a passkey is stored, and so whether losing a device means losing it. */
export function describeStorage({ device_type, backed_up, transports }: Storage): {
  badge: string;
  description: string;
} {
  if (backed_up) {
    return {
      badge: 'Synced',
      description: 'Backed up by a password manager and available on your other devices.',
    };
  }
  if (device_type === 'multi_device') {
    return {
      badge: 'Not backed up yet',
      description:
        "Stored in a password manager that hasn't backed it up yet. If you lose this device, you lose this passkey.",
    };
  }
  const isInDevice = transports.includes('internal');
  const isOnKey = transports.some((transport) => ['usb', 'nfc', 'ble'].includes(transport));
  const where = isInDevice
    ? 'on the device you created it on'
    : isOnKey
      ? 'on a security key'
      : 'on one device';
  return {
    badge: 'One device only',
    description: `Stored only ${where}. If you lose it, you can still sign in by email.`,
  };
}
