// The test vectors of WebAuthn Level 3 (section 16) for the attestation formats and algorithms that this service accepts.

import { expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import type { AuthenticationResponse, RegistrationResponse } from '@latchkey/contract/passkeys';
import { AuthError } from '../../platform/errors.ts';
import { readConfig } from '../../settings.ts';
import {
  importPublicKey,
  parseAuthenticatorData,
  parseClientData,
  readMap,
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

const config = readConfig({ LATCHKEY_BASE_URL: 'https://example.org' });
/** The vectors have no user handle. */
const userHandle = 'user-handle';
const bytesOf = (text: string) => new Uint8Array(Buffer.from(text, 'base64url'));

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
  'the W3C test vector %s is parsed, its signature verifies, and only what this service refuses is refused',
  (name) => {
    const { credentialId: id, create, get } = vectors[name];
    const common = { id, rawId: id, type: 'public-key' as const, clientExtensionResults: {} };
    const created: RegistrationResponse = { ...common, response: { ...create, transports: [] } };
    const got: AuthenticationResponse = { ...common, response: { ...get, userHandle } };
    const { map } = readMap(bytesOf(create.attestationObject), 0);
    const { credential, isBackupEligible } = parseAuthenticatorData(map.get('authData') as Uint8Array);

    const registration = verdictOf(() => {
      verifyClientData(config, parseClientData(create.clientDataJSON), 'webauthn.create');
      return verifyRegistration(config, created).device_type;
    });
    const signIn = verdictOf(() => {
      verifyClientData(config, parseClientData(get.clientDataJSON), 'webauthn.get');
      verifyAuthentication(config, got, {
        public_key: credential!.publicKey.toString('base64url'),
        device_type: isBackupEligible ? 'multi_device' : 'single_device',
        webauthn_user_handle: userHandle,
      });
      return 'verified';
    });
    expect([registration, signIn]).toEqual([...verdicts[name]]);

    expect(credential!.id.toString('base64url')).toBe(id);
    const clientData = createHash('sha256').update(bytesOf(get.clientDataJSON)).digest();
    const signed = Buffer.concat([bytesOf(get.authenticatorData), clientData]);
    const key = importPublicKey(credential!.coseKey);
    expect(key?.verifies(bytesOf(get.signature), signed)).toBe(true);
    signed[signed.length - 1]! ^= 1;
    expect(key?.verifies(bytesOf(get.signature), signed)).toBe(false);
  },
);
