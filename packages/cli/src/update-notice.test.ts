import { expect, test } from 'bun:test';
import { isNewer } from './update-notice.ts';

test.each([
  ['0.1.1', '0.1.0', true],
  ['0.10.0', '0.9.9', true],
  ['1.0.0', '0.9.9', true],
  ['0.1.0', '0.1.0', false],
  ['0.1.9', '0.2.0', false],
  ['0.9.9', '0.10.0', false],
  // Of a pre-release only its release is newer, and a pre-release is never announced.
  ['0.2.0', '0.2.0-rc.1', true],
  ['0.1.9', '0.2.0-rc.1', false],
  ['0.2.0-rc.2', '0.2.0-rc.1', false],
  ['', '0.1.0', false],
  ['9.9', '0.1.0', false],
  ['9.9.9\u001b[2J', '0.1.0', false],
  ['99999999999999999999.0.0', '0.1.0', false],
])('%p is newer than %s: %p', (release, version, newer) => {
  expect(isNewer(release, version)).toBe(newer);
});
