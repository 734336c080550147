import { expect, test } from 'bun:test';
import { describeStorage } from './passkey-storage.ts';

test('a passkey that would be lost with its device says so, and a backed up one does not', () => {
  const single = { device_type: 'single_device', backed_up: false } as const;
  expect(describeStorage({ ...single, transports: ['internal'] }).sentence).toContain(
    'the device where it was made',
  );
  expect(describeStorage({ ...single, transports: ['usb', 'nfc'] }).sentence).toContain('on a security key');
  expect(describeStorage({ ...single, transports: [] }).sentence).toContain('on one device');
  const multi = { device_type: 'multi_device', transports: ['internal', 'hybrid'] } as const;
  const kept = { ...multi, transports: [...multi.transports] };
  expect(describeStorage({ ...kept, backed_up: true }).sentence).not.toContain('lost');
  expect(describeStorage({ ...kept, backed_up: false }).sentence).toContain('so is this passkey');
});
