// The test vectors of WebAuthn Level 3 (section 16) for the attestation formats and algorithms that this service accepts. The
// library that it does not use has to agree.

import { expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import type { AuthenticationResponse, RegistrationResponse } from '@latchkey/contract/passkeys';
import { verifyAuthenticationResponse, verifyRegistrationResponse } from '@simplewebauthn/server';
import { isoCBOR } from '@simplewebauthn/server/helpers';
import { AuthError } from '../../platform/errors.ts';
import { readConfig } from '../../settings.ts';
import {
  type CoseKey,
  importPublicKey,
  parseClientData,
  verifyAuthentication,
  verifyClientData,
  verifyRegistration,
} from './verification.ts';
import vectors from './w3c-vectors.json' with { type: 'json' };

const certified = 'attestation_certificate';
const unverified = 'user_verification';

/**
 * How this service answers registration and sign-in. It refuses every ceremony without user verification, from a frame, or
 * with a certificate, even a valid one.
 */
const verdicts: Record<keyof typeof vectors, readonly [registration: string, signIn: string]> = {
  'none.ES256': [unverified, unverified],
  'packed-self.ES256': ['multi_device', unverified],
  'none.ES256.crossOrigin': ['cross_origin', 'cross_origin'],
  'none.ES256.topOrigin': ['cross_origin', 'cross_origin'],
  'none.ES256.long-credential-id': [unverified, 'verified'],
  'packed.ES256': [certified, 'verified'],
  'packed.RS256': [certified, unverified],
  'packed.EdDSA': [certified, unverified],
};

const origin = 'https://example.org';
const config = readConfig({ LATCHKEY_BASE_URL: origin });
/** The vectors have no user handle. */
const userHandle = 'user-handle';
const expected = { expectedOrigin: origin, expectedRPID: 'example.org', requireUserVerification: false };

/** The result of a ceremony, or the detail that the log has for its refusal. */
function verdictOf(ceremony: () => string): string {
  try {
    return ceremony();
  } catch (error) {
    if (!(error instanceof AuthError)) throw error;
    expect(error.code).toBe('invalid_grant');
    return String(error.detail);
  }
}

test.each(Object.keys(verdicts) as (keyof typeof vectors)[])(
  'this service and the library agree on the W3C test vector %s, but for what this service refuses',
  async (name) => {
    const { credentialId: id, create, get } = vectors[name];
    const common = { id, rawId: id, type: 'public-key' as const, clientExtensionResults: {} };
    const created: RegistrationResponse = { ...common, response: { ...create, transports: [] } };
    const got: AuthenticationResponse = { ...common, response: { ...get, userHandle } };
    const [creation, request] = [create, get].map(({ clientDataJSON }) => parseClientData(clientDataJSON));

    const { registrationInfo } = await verifyRegistrationResponse({
      ...expected,
      response: { ...common, response: { ...create, transports: [] } },
      expectedChallenge: creation!.challenge,
      supportedAlgorithmIDs: [-7, -8, -257],
    });
    const { credential, credentialDeviceType } = registrationInfo!;
    const { verified } = await verifyAuthenticationResponse({
      ...expected,
      response: { ...common, response: { ...get, userHandle } },
      expectedChallenge: request!.challenge,
      expectedTopOrigin: 'https://example.com',
      credential,
    });
    expect(verified).toBe(true);

    const registration = verdictOf(() => {
      verifyClientData(config, creation!, 'webauthn.create');
      return verifyRegistration(config, created).device_type;
    });
    const signIn = verdictOf(() => {
      verifyClientData(config, request!, 'webauthn.get');
      verifyAuthentication(config, got, {
        public_key: Buffer.from(credential.publicKey).toString('base64url'),
        device_type: credentialDeviceType === 'multiDevice' ? 'multi_device' : 'single_device',
        webauthn_user_handle: userHandle,
      });
      return 'verified';
    });
    expect([registration, signIn]).toEqual([...verdicts[name]]);

    const key = importPublicKey(isoCBOR.decodeFirst<CoseKey>(credential.publicKey));
    const [authenticatorData, clientData, signature] = [
      get.authenticatorData,
      get.clientDataJSON,
      get.signature,
    ].map((text) => Buffer.from(text, 'base64url'));
    const signed = Buffer.concat([authenticatorData!, createHash('sha256').update(clientData!).digest()]);
    expect(key?.verifies(signature!, signed)).toBe(true);
    signed[signed.length - 1]! ^= 1;
    expect(key?.verifies(signature!, signed)).toBe(false);
  },
);
