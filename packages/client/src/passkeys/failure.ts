import type { PasskeyErrorCode } from '../errors.ts';

/**
 * The code for a rejected `navigator.credentials` call. Browsers report `NotAllowedError` for a cancelled dialog, a
 * timeout and a device without authenticator alike; only asking the device identifies the last.
 * @see WebAuthn Level 3 sections 5.1.3 and 5.1.4
 */
export function failureOf(error: unknown, deviceHasAuthenticator: boolean): PasskeyErrorCode {
  switch (error instanceof Error ? error.name : '') {
    case 'AbortError':
      return 'passkey_aborted';
    case 'InvalidStateError':
      return 'passkey_already_there';
    case 'NotAllowedError':
      return deviceHasAuthenticator ? 'passkey_cancelled' : 'no_authenticator';
    case 'ConstraintError':
    case 'NotSupportedError':
      return 'no_authenticator';
    default:
      return 'passkey_failed';
  }
}
