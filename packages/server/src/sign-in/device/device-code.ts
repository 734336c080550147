import { subjectBytes } from '../../platform/crypto/handle.ts';
import { sha256 } from '../../platform/crypto/hash.ts';

/** The id of the authorization with this device code. */
export const authorizationIdOf = (secret: Uint8Array): string =>
  sha256('device authorization', secret).subarray(0, subjectBytes).toString('base64url');

/** Derives the session's secret from the device code, so that the response to a poll can be repeated. */
export const sessionSecretOf = (secret: Uint8Array): Buffer =>
  sha256('device session', secret).subarray(0, subjectBytes);
