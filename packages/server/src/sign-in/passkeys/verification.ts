import { createHash } from 'node:crypto';
import type { AuthenticationResponse, RegistrationResponse } from '@latchkey/contract/passkeys';
import type { Config } from '../../platform/config/config.ts';
import type { Tables } from '../../platform/database/schema.ts';
import { AuthError } from '../../platform/errors.ts';
import { parseAuthenticatorData, readMap } from './authenticator-data.ts';
import { ceremonyRefused } from './challenge.ts';
import { readBase64url } from './client-data.ts';
import { type CoseKey, coseAlgorithm, importPublicKey } from './public-key.ts';

const maxCredentialIdBytes = 1023;

/** A new credential whose registration response verified. */
export type NewCredential = ReturnType<typeof verifyRegistration>;

/** Turns every error over untrusted bytes into a refused ceremony. */
function refusingOnError<T>(verify: () => T): T {
  try {
    return verify();
  } catch (error) {
    throw error instanceof AuthError ? error : ceremonyRefused('verification', error);
  }
}

/**
 * Verifies the authenticator's part of a registration response; its client data is already verified. Takes attestation that works
 * without certificates. A `packed` statement with one (`x5c`) is refused as well: browsers that are asked for `none` send no certificate,
 * so parsing untrusted ones would be a risk without a benefit.
 * @throws {AuthError} `invalid_grant`
 * @see WebAuthn Level 3 sections 7.1 and 8.2
 */
export function verifyRegistration(config: Config, { id, rawId = id, response }: RegistrationResponse) {
  return refusingOnError(() => {
    const attestation = readWholeMap(readBase64url(response.attestationObject));
    const [format, statement, bytes] = ['fmt', 'attStmt', 'authData'].map((name) => attestation.get(name));
    if (format !== 'none' && format !== 'packed') throw ceremonyRefused('attestation_format');
    if (!(statement instanceof Map)) throw ceremonyRefused('attestation_statement');
    if (statement.has('x5c')) throw ceremonyRefused('attestation_certificate');
    if (!(bytes instanceof Uint8Array)) throw ceremonyRefused('verification');
    const { credential, counter, isBackedUp, deviceType } = readVerified(config, bytes);
    const credentialId = readBase64url(id);
    if (rawId !== id || !credential?.id.equals(credentialId) || credentialId.length > maxCredentialIdBytes)
      throw ceremonyRefused('credential_id');
    const key = importPublicKey(credential.coseKey);
    if (!key) throw ceremonyRefused('public_key');
    if (format === 'none' && statement.size > 0) throw ceremonyRefused('attestation_statement');
    if (format === 'packed') {
      const signature = statement.get('sig');
      const signed = signedBytes(bytes, response);
      const isOfKey = statement.get('alg') === coseAlgorithm(credential.coseKey);
      if (!isOfKey || !(signature instanceof Uint8Array) || !key.verifies(signature, signed))
        throw ceremonyRefused('attestation_signature');
    }
    return {
      credentialId: id,
      publicKey: credential.publicKey.toString('base64url'),
      counter,
      aaguid: credential.aaguid,
      deviceType,
      backedUp: isBackedUp,
    };
  });
}

/** Whether a text is a COSE key in base64url and nothing else, that no registration response came with, and verifies signatures. */
export function isVerifiableKey(publicKey: string): boolean {
  try {
    return importPublicKey(readWholeMap(readBase64url(publicKey)) as CoseKey) !== undefined;
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
 * verified, and the store compares the counter.
 * @throws {AuthError} `invalid_grant`
 * @see WebAuthn Level 3 section 7.2
 */
export function verifyAuthentication(
  config: Config,
  { id, rawId = id, response }: AuthenticationResponse,
  stored: StoredCredential,
): { counter: number; backed_up: number } {
  return refusingOnError(() => {
    if (rawId !== id) throw ceremonyRefused('credential_id');
    if (response.userHandle !== stored.webauthn_user_handle) throw ceremonyRefused('user_handle');
    const bytes = readBase64url(response.authenticatorData);
    const { counter, isBackedUp, deviceType } = readVerified(config, bytes);
    if (deviceType !== stored.device_type) throw ceremonyRefused('backup_eligibility');
    const key = importPublicKey(readMap(readBase64url(stored.public_key), 0).map as CoseKey);
    if (!key?.verifies(readBase64url(response.signature), signedBytes(bytes, response)))
      throw ceremonyRefused('signature');
    return { counter, backed_up: Number(isBackedUp) };
  });
}

/** Authenticator data for this service, made with a person who was present and verified. */
function readVerified(config: Config, bytes: Uint8Array) {
  const data = parseAuthenticatorData(bytes);
  if (!digest(config.rpId).equals(data.rpIdHash)) throw ceremonyRefused('rp_id');
  if (!data.isUserPresent) throw ceremonyRefused('user_presence');
  if (!data.isUserVerified) throw ceremonyRefused('user_verification');
  if (data.isBackedUp && !data.isBackupEligible) throw ceremonyRefused('backup_state');
  const deviceType = data.isBackupEligible ? ('multi_device' as const) : ('single_device' as const);
  return { ...data, deviceType };
}

function readWholeMap(bytes: Uint8Array) {
  const { map, end } = readMap(bytes, 0);
  if (end !== bytes.length) throw new Error('leftover bytes');
  return map;
}

/** What the authenticator signs. */
const signedBytes = (
  authenticatorData: Uint8Array,
  { clientDataJSON }: { readonly clientDataJSON: string },
): Buffer => Buffer.concat([authenticatorData, digest(readBase64url(clientDataJSON))]);

const digest = (data: Uint8Array | string): Buffer => createHash('sha256').update(data).digest();
