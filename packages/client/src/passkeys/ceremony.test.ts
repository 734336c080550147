import { expect, test } from 'bun:test';
import { failureOf } from './ceremony.ts';

const named = (name: string) => new DOMException('', name);

test('NotAllowedError counts as cancelled only if the device has an authenticator', () => {
  expect(failureOf(named('NotAllowedError'), true)).toBe('passkey_cancelled');
  expect(failureOf(named('NotAllowedError'), false)).toBe('no_authenticator');
});

test('every other browser error has its own code', () => {
  expect(failureOf(named('InvalidStateError'), true)).toBe('passkey_already_there');
  expect(failureOf(named('AbortError'), true)).toBe('passkey_aborted');
  expect(failureOf(named('ConstraintError'), true)).toBe('no_authenticator');
  expect(failureOf(named('SecurityError'), true)).toBe('passkey_failed');
  expect(failureOf('no error at all', true)).toBe('passkey_failed');
});
