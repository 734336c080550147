import { subjectBytes } from '../../platform/crypto/handle.ts';
import { sha256 } from '../../platform/crypto/hash.ts';

/** The id of the row of an authorization code. */
export const codeIdOf = (secret: Uint8Array): string =>
  sha256('authorization code', secret).subarray(0, subjectBytes).toString('base64url');

/** Derives the session's secret from the code, so that the response to a redemption can be repeated. */
export const sessionSecretOf = (secret: Uint8Array): Buffer =>
  sha256('code session', secret).subarray(0, subjectBytes);

/** Whether a code verifier is the one that a challenge was made of. @see RFC 7636 section 4.6 */
export const matchesChallenge = (verifier: string, challenge: string): boolean =>
  /^[A-Za-z0-9._~-]{43,128}$/.test(verifier) &&
  new Bun.CryptoHasher('sha256').update(verifier).digest('base64url') === challenge;
