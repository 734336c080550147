import type { PasskeyErrorCode } from '../errors.ts';

/**
 * What a rejected `navigator.credentials` call means to a person. `NotAllowedError` is all that a browser says of
 * a person who cancels, a time that runs out and a device that cannot: only the device's own word parts the last.
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
