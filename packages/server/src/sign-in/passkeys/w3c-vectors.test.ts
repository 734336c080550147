// The test vectors of WebAuthn Level 3 (section 16) for the attestation formats and algorithms that this service
// accepts. They are derived, byte for byte, rather than stored; the digests are of the published bytes.

import { describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import type { AuthenticationResponse, RegistrationResponse } from '@latchkey/contract/passkeys';
import { verifyAuthenticationResponse, verifyRegistrationResponse } from '@simplewebauthn/server';
import { isoCBOR } from '@simplewebauthn/server/helpers';
import { base64url, flag } from '../../../../../tests/support/authenticator.ts';
import { deriveVector, type Vector, type VectorKind } from '../../../../../tests/support/w3c-vectors.ts';
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

interface Published extends VectorKind {
  /** Of both client data, the attestation object, the authenticator data and the signature, concatenated. */
  readonly sha256: string;
  /**
   * How this service answers the two ceremonies. It refuses every ceremony without user verification, from a frame, or
   * with a certificate, even a valid one.
   */
  readonly verdicts: readonly [registration: string, signIn: string];
}

const unverified = ['user_verification', 'user_verification'] as const;
const certified = 'attestation_certificate';

const published: Record<string, Published> = {
  'none.ES256': {
    algorithm: 'ES256',
    attestation: 'none',
    sha256: '649874d44aab0a7e9dbf210eb22b33f359c3b89819afae2e3094056cecd208c2',
    verdicts: unverified,
  },
  'packed-self.ES256': {
    algorithm: 'ES256',
    attestation: 'packed-self',
    sha256: 'a5a3a75de4b7519d4a006823af9440cda4658a86ec5778553d10d5da9aac0a4c',
    verdicts: ['multi_device', 'user_verification'],
  },
  'none.ES256.crossOrigin': {
    algorithm: 'ES256',
    attestation: 'none',
    crossOrigin: true,
    sha256: 'bf2ca948f7578dba3f83897659c7099b8698c2bd3339ad6fbadb9874dcf60c38',
    verdicts: ['cross_origin', 'cross_origin'],
  },
  'none.ES256.topOrigin': {
    algorithm: 'ES256',
    attestation: 'none',
    crossOrigin: true,
    topOrigin: true,
    sha256: 'c28e83d5df5647c4569845e75b88414952dd4bc955240866c5df4fdb4886a0f8',
    verdicts: ['cross_origin', 'cross_origin'],
  },
  'none.ES256.long-credential-id': {
    algorithm: 'ES256',
    attestation: 'none',
    credentialIdBytes: 1023,
    sha256: 'e8f7a744566926e8a7a2d682b6e6f000332624e85b31342754bf827142261fab',
    verdicts: ['user_verification', 'verified'],
  },
  'packed.ES256': {
    algorithm: 'ES256',
    attestation: 'packed',
    sha256: '7226adb11c50fdbba9eabbc2415e4bc837ea11f6014614efd450582845ea881a',
    verdicts: [certified, 'verified'],
  },
  'packed.RS256': {
    algorithm: 'RS256',
    attestation: 'packed',
    sha256: '09af3795e672889b38ecf894ef8eae70e8390dd5bfbcb84e625ef5717689cf69',
    verdicts: [certified, 'user_verification'],
  },
  'packed.EdDSA': {
    algorithm: 'EdDSA',
    attestation: 'packed',
    sha256: 'd1126212a2f1ec22194932398580482ca35479a976397eacb1fcf4a6fc78a93e',
    verdicts: [certified, 'user_verification'],
  },
};

const origin = 'https://example.org';
const rpId = 'example.org';
const config = readConfig({ LATCHKEY_BASE_URL: origin });
/** The vectors have no user handle. */
const userHandle = 'user-handle';

function registrationOf({ credentialId, registration }: Vector) {
  const id = base64url(credentialId);
  return {
    id,
    rawId: id,
    type: 'public-key' as const,
    clientExtensionResults: {},
    response: {
      clientDataJSON: base64url(registration.clientDataJSON),
      attestationObject: base64url(registration.attestationObject),
      transports: [],
    },
  } satisfies RegistrationResponse;
}

function authenticationOf({ credentialId, authentication }: Vector) {
  const id = base64url(credentialId);
  return {
    id,
    rawId: id,
    type: 'public-key' as const,
    clientExtensionResults: {},
    response: {
      clientDataJSON: base64url(authentication.clientDataJSON),
      authenticatorData: base64url(authentication.authenticatorData),
      signature: base64url(authentication.signature),
      userHandle,
    },
  } satisfies AuthenticationResponse;
}

/** The library's own verification, without requiring user verification. */
async function verifiedByLibrary(vector: Vector) {
  const { verified, registrationInfo } = await verifyRegistrationResponse({
    response: registrationOf(vector),
    expectedChallenge: base64url(vector.registration.challenge),
    expectedOrigin: origin,
    expectedRPID: rpId,
    requireUserVerification: false,
    supportedAlgorithmIDs: [-7, -8, -257],
  });
  expect(verified).toBe(true);
  return registrationInfo!;
}

/** The result of a ceremony, or the detail that the log has for its refusal. */
async function verdictOf(ceremony: () => Promise<string>): Promise<string> {
  try {
    return await ceremony();
  } catch (error) {
    if (!(error instanceof AuthError)) throw error;
    expect(error.code).toBe('invalid_grant');
    return String(error.detail);
  }
}

for (const [info, { sha256, verdicts, ...kind }] of Object.entries(published)) {
  describe(`the W3C test vector ${info}`, () => {
    const vector = deriveVector(info, kind);
    const { registration, authentication } = vector;

    test('the derived vector has the digest of the published bytes', () => {
      const bytes = [
        ...[registration.clientDataJSON, registration.attestationObject],
        ...[authentication.clientDataJSON, authentication.authenticatorData, authentication.signature],
      ];
      expect(createHash('sha256').update(Buffer.concat(bytes)).digest('hex')).toBe(sha256);
    });

    test('the library verifies registration and sign-in', async () => {
      const info = await verifiedByLibrary(vector);
      expect(info.credential.id).toBe(base64url(vector.credentialId));
      expect(info.userVerified).toBe((registration.flags & flag.uv) !== 0);
      const signIn = await verifyAuthenticationResponse({
        response: authenticationOf(vector),
        expectedChallenge: base64url(authentication.challenge),
        expectedOrigin: origin,
        ...(kind.topOrigin ? { expectedTopOrigin: 'https://example.com' } : {}),
        expectedRPID: rpId,
        credential: info.credential,
        requireUserVerification: false,
      });
      expect(signIn.verified).toBe(true);
      expect(signIn.authenticationInfo.userVerified).toBe((authentication.flags & flag.uv) !== 0);
    });

    test(`this service answers registration and sign-in: ${verdicts.join(', ')}`, async () => {
      const created = registrationOf(vector);
      const register = async () => {
        const clientData = parseClientData(created.response.clientDataJSON);
        expect(clientData.challenge).toBe(base64url(registration.challenge));
        verifyClientData(config, clientData, 'webauthn.create');
        return verifyRegistration(config, created).deviceType;
      };
      expect(await verdictOf(register)).toBe(verdicts[0]);

      const { credential, credentialDeviceType } = await verifiedByLibrary(vector);
      const got = authenticationOf(vector);
      const signIn = async () => {
        verifyClientData(config, parseClientData(got.response.clientDataJSON), 'webauthn.get');
        verifyAuthentication(config, got, {
          public_key: base64url(credential.publicKey),
          device_type: credentialDeviceType === 'multiDevice' ? 'multi_device' : 'single_device',
          webauthn_user_handle: userHandle,
        });
        return 'verified';
      };
      expect(await verdictOf(signIn)).toBe(verdicts[1]);
    });

    test('importPublicKey verifies its signature and refuses altered data', async () => {
      const { credential } = await verifiedByLibrary(vector);
      const key = importPublicKey(isoCBOR.decodeFirst<CoseKey>(credential.publicKey));
      const signed = Buffer.concat([
        authentication.authenticatorData,
        createHash('sha256').update(authentication.clientDataJSON).digest(),
      ]);
      expect(key?.verifies(authentication.signature, signed)).toBe(true);
      signed[signed.length - 1]! ^= 1;
      expect(key?.verifies(authentication.signature, signed)).toBe(false);
    });
  });
}
