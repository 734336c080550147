import { createHash } from 'node:crypto';
import {
  type AuthenticationResponse,
  passkeyAlgorithms,
  type RegistrationResponse,
} from '@latchkey/contract/passkeys';
import type { Config } from '../../platform/config/config.ts';
import type { Tables } from '../../platform/database/schema.ts';
import { AuthError, temporarilyUnavailable } from '../../platform/errors.ts';
import { ceremonyRefused } from './challenge.ts';
import { expectedOrigins, readBase64url } from './client-data.ts';
import { type CoseKey, importPublicKey } from './public-key.ts';

async function loadLibrary() {
  // The certificate parsers need it. A bundle would load it after them.
  await import('reflect-metadata');
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
  const helpers = await import('@simplewebauthn/server/helpers');
  return { verifyRegistrationResponse, ...helpers };
}

let loading: ReturnType<typeof loadLibrary> | undefined;

/**
 * The library, not imported by the start: its certificate parsers take longer to load than everything else. Call it ahead of
 * the first ceremony, too: a process that has run out of file descriptors then could not load it, and the runtime would not
 * try again.
 * @throws {AuthError} `temporarily_unavailable` where the files cannot be read
 */
export function loadVerification() {
  loading ??= loadLibrary().catch((error) => {
    throw temporarilyUnavailable(error, 'library_unavailable');
  });
  return loading;
}

/**
 * Attestation formats that work without certificates. A `packed` statement with one (`x5c`) is refused as well: browsers
 * that are asked for `none` send no certificate, so parsing untrusted ones would be a risk without a benefit.
 */
const attestationFormats: readonly unknown[] = ['none', 'packed'];

const maxCredentialIdBytes = 1023;

const deviceTypeOf = { singleDevice: 'single_device', multiDevice: 'multi_device' } as const;

/** A new credential whose registration response verified. */
export type NewCredential = Awaited<ReturnType<typeof verifyRegistration>>;

/** Turns every error of the library over untrusted bytes into a refused ceremony. */
async function refusingOnError<T>(verify: () => Promise<T>): Promise<T> {
  try {
    return await verify();
  } catch (error) {
    throw error instanceof AuthError ? error : ceremonyRefused('verification', error);
  }
}

/**
 * Verifies the authenticator's part of a registration response; its client data is already verified.
 * @throws {AuthError} `invalid_grant`
 * @see WebAuthn Level 3 section 7.1
 */
export function verifyRegistration(
  config: Config,
  { id, rawId = id, type, response }: RegistrationResponse,
  challenge: string,
) {
  return refusingOnError(async () => {
    const { verifyRegistrationResponse, decodeAttestationObject, isoCBOR } = await loadVerification();
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
      expectedChallenge: challenge,
      expectedOrigin: expectedOrigins(config),
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

/** Whether a text is a COSE key in base64url and nothing else, that no registration response came with, and verifies signatures. */
export async function isVerifiableKey(publicKey: string): Promise<boolean> {
  const { isoCBOR } = await loadVerification();
  try {
    const bytes = Buffer.from(readBase64url(publicKey));
    const isAll = bytes.equals(isoCBOR.encode(isoCBOR.decodeFirst(bytes)));
    return isAll && importPublicKey(isoCBOR.decodeFirst<CoseKey>(bytes)) !== undefined;
  } catch {
    // Not CBOR, or not a map.
    return false;
  }
}

/** The stored columns of a passkey that an assertion is verified with. */
type StoredCredential = Pick<Tables['passkeys'], 'public_key' | 'device_type'> &
  Pick<Tables['users'], 'webauthn_user_handle'>;

/**
 * Verifies the authenticator's part of an authentication response with the stored passkey; its client data is already
 * verified, and the store compares the counter. The library only parses: its own verification takes several times as
 * long as the signature itself.
 * @throws {AuthError} `invalid_grant`
 * @see WebAuthn Level 3 section 7.2
 */
export function verifyAuthentication(
  config: Config,
  { id, rawId = id, response }: AuthenticationResponse,
  stored: StoredCredential,
): Promise<{ counter: number; backedUp: boolean }> {
  return refusingOnError(async () => {
    if (rawId !== id) throw ceremonyRefused('credential_id');
    if (response.userHandle !== stored.webauthn_user_handle) throw ceremonyRefused('user_handle');
    const { isoCBOR, parseAuthenticatorData } = await loadVerification();
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
