import { createHash } from 'node:crypto';
import {
  type AuthenticationResponse,
  passkeyAlgorithms,
  type RegistrationResponse,
} from '@latchkey/contract/passkeys';
import type { Config } from '../../platform/config/config.ts';
import { AuthError } from '../../platform/errors.ts';
import { ceremonyRefused } from './challenge.ts';
import { type ClientData, checkClientData, readBase64url } from './client-data.ts';
import { type CoseKey, importPublicKey } from './public-key.ts';

/** Loads something when it is first asked for, and once. */
const lazily = <T>(load: () => Promise<T>): (() => Promise<T>) => {
  let loading: Promise<T> | undefined;
  return () => {
    loading ??= load();
    return loading;
  };
};

/** The library brings certificate parsers that take longer to load than all else, so the first ceremony loads it. */
const library = lazily(() => import('@simplewebauthn/server'));
const libraryParts = lazily(() => import('@simplewebauthn/server/helpers'));

/**
 * Formats that work without a certificate; a `packed` statement that carries one (`x5c`) is refused as well. Browsers
 * that are asked for `none` send no certificates, and parsing a stranger's would be a risk for nothing.
 */
const attestationFormats: readonly unknown[] = ['none', 'packed'];

const maxCredentialIdBytes = 1023;

type DeviceType = 'single_device' | 'multi_device';

const deviceTypeOf = { singleDevice: 'single_device', multiDevice: 'multi_device' } as const;

/** Pages of these origins may take part in ceremonies. */
export const expectedOrigins = (config: Config): string[] => [config.baseUrl, ...config.allowedOrigins];

/** What the authenticator made, proven to be an answer to our challenge. */
export interface NewCredential {
  readonly credentialId: string;
  readonly publicKey: string;
  readonly counter: number;
  readonly aaguid: string;
  readonly deviceType: DeviceType;
  readonly backedUp: boolean;
}

/** Whatever the library stumbles over in a stranger's bytes makes the response one that does not verify. */
async function refusing<T>(verify: () => Promise<T>): Promise<T> {
  try {
    return await verify();
  } catch (error) {
    throw error instanceof AuthError ? error : ceremonyRefused('verification', error);
  }
}

/**
 * Checks a registration response against its challenge.
 * @throws {AuthError} `invalid_grant`
 * @see WebAuthn Level 3 section 7.1
 */
export function verifyRegistration(
  config: Config,
  { id, rawId, type, response }: RegistrationResponse,
  clientData: ClientData,
): Promise<NewCredential> {
  return refusing(async () => {
    const origins = expectedOrigins(config);
    checkClientData(clientData, { type: 'webauthn.create', origins });
    const { verifyRegistrationResponse } = await library();
    const { decodeAttestationObject, isoCBOR } = await libraryParts();
    const attestation = decodeAttestationObject(readBase64url(response.attestationObject));
    if (!attestationFormats.includes(attestation.get('fmt'))) throw ceremonyRefused('attestation_format');
    const statement = attestation.get('attStmt');
    if (!(statement instanceof Map)) throw ceremonyRefused('attestation_statement');
    if (statement.has('x5c')) throw ceremonyRefused('attestation_certificate');
    const { verified, registrationInfo: info } = await verifyRegistrationResponse({
      response: {
        id,
        rawId,
        type,
        clientExtensionResults: {},
        response: { clientDataJSON: response.clientDataJSON, attestationObject: response.attestationObject },
      },
      expectedChallenge: clientData.challenge,
      expectedOrigin: origins,
      expectedRPID: config.rpId,
      requireUserPresence: true,
      requireUserVerification: true,
      supportedAlgorithmIDs: [...passkeyAlgorithms],
    });
    if (!verified) throw ceremonyRefused('attestation_signature');
    const { credential } = info;
    if (credential.id !== id || readBase64url(id).length > maxCredentialIdBytes) {
      throw ceremonyRefused('credential_id');
    }
    if (!importPublicKey(isoCBOR.decodeFirst<CoseKey>(credential.publicKey))) {
      throw ceremonyRefused('public_key');
    }
    return {
      credentialId: id,
      publicKey: Buffer.from(credential.publicKey).toString('base64url'),
      counter: credential.counter,
      aaguid: info.aaguid,
      deviceType: deviceTypeOf[info.credentialDeviceType],
      backedUp: info.credentialBackedUp,
    };
  });
}

/** What is stored of a passkey, as far as an assertion is checked against it. */
export interface StoredCredential {
  readonly public_key: string;
  readonly device_type: DeviceType;
  readonly webauthn_user_handle: string;
}

/**
 * Checks an authentication response against its challenge and the stored passkey, all but the counter, which
 * the store decides on. The library takes the bytes apart; its own verification is not used here, because it
 * takes several times as long as the signature itself.
 * @throws {AuthError} `invalid_grant`
 * @see WebAuthn Level 3 section 7.2
 */
export function verifyAuthentication(
  config: Config,
  { id, rawId, response }: AuthenticationResponse,
  clientData: ClientData,
  stored: StoredCredential,
): Promise<{ counter: number; backedUp: boolean }> {
  return refusing(async () => {
    checkClientData(clientData, { type: 'webauthn.get', origins: expectedOrigins(config) });
    if (rawId !== id) throw ceremonyRefused('credential_id');
    if (response.userHandle !== stored.webauthn_user_handle) throw ceremonyRefused('user_handle');
    const { isoCBOR, parseAuthenticatorData } = await libraryParts();
    const authenticatorData = readBase64url(response.authenticatorData);
    const { rpIdHash, flags, counter } = parseAuthenticatorData(authenticatorData);
    if (!digest(config.rpId).equals(rpIdHash)) throw ceremonyRefused('rp_id');
    if (!flags.up) throw ceremonyRefused('user_presence');
    if (!flags.uv) throw ceremonyRefused('user_verification');
    if (flags.bs && !flags.be) throw ceremonyRefused('backup_state');
    const deviceType = flags.be ? 'multi_device' : 'single_device';
    if (deviceType !== stored.device_type) throw ceremonyRefused('backup_eligibility');
    const key = importPublicKey(isoCBOR.decodeFirst<CoseKey>(readBase64url(stored.public_key)));
    const signed = Buffer.concat([authenticatorData, digest(readBase64url(response.clientDataJSON))]);
    if (!key?.verifies(readBase64url(response.signature), signed)) throw ceremonyRefused('signature');
    return { counter, backedUp: flags.bs };
  });
}

const digest = (data: Uint8Array | string): Buffer => createHash('sha256').update(data).digest();
