import '../../../../tests/support/english-pages.ts';
import { expect, test } from 'bun:test';
import { describeStorage } from './passkey-storage.ts';

test('a passkey that would be lost with its device says so, and a backed-up one does not', () => {
  const single = { device_type: 'single_device', backed_up: false } as const;
  expect(describeStorage({ ...single, transports: ['internal'] }).description).toContain(
    'the device you created it on',
  );
  expect(describeStorage({ ...single, transports: ['usb', 'nfc'] }).description).toContain(
    'on a security key',
  );
  expect(describeStorage({ ...single, transports: [] }).description).toContain('on one device');
  const multi = { device_type: 'multi_device', transports: ['internal', 'hybrid'] } as const;
  const kept = { ...multi, transports: [...multi.transports] };
  expect(describeStorage({ ...kept, backed_up: true }).description).not.toContain('lose');
  expect(describeStorage({ ...kept, backed_up: false }).description).toContain('lose this passkey');
});
