import { expect, test } from 'bun:test';
import { storageWords } from './passkey-words.ts';

test('a passkey that would be lost with its device says so, and a backed up one does not', () => {
  const single = { device_type: 'single_device', backed_up: false } as const;
  expect(storageWords({ ...single, transports: ['internal'] }).sentence).toContain(
    'the device where it was made',
  );
  expect(storageWords({ ...single, transports: ['usb', 'nfc'] }).sentence).toContain('on a security key');
  expect(storageWords({ ...single, transports: [] }).sentence).toContain('on one device');
  const multi = { device_type: 'multi_device', transports: ['internal', 'hybrid'] } as const;
  const kept = { ...multi, transports: [...multi.transports] };
  expect(storageWords({ ...kept, backed_up: true }).sentence).not.toContain('lost');
  expect(storageWords({ ...kept, backed_up: false }).sentence).toContain('so is this passkey');
});
