import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import type { AuthenticationResponse, RegistrationResponse } from '@latchkey/contract/passkeys';
import { type CBORType, decodePartialCBOR } from '@levischuck/tiny-cbor';
import { z } from 'zod';
import type { Config } from '../../platform/config/config.ts';
import type { Context } from '../../platform/context.ts';
import type { Executor } from '../../platform/database/executor.ts';
import type { Tables } from '../../platform/database/schema.ts';
import { AuthError } from '../../platform/errors.ts';
import type { ClientInfo } from '../../platform/values/client-address.ts';
import { recordEvent } from '../../security-log/events/events.ts';
import { ceremonyRefused } from './challenge.ts';
import * as store from './store.ts';

const maxCredentialIdBytes = 1023;

/** Turns every error over untrusted bytes into a refused ceremony. */
function refusingOnError<T>(verify: () => T): T {
  try {
    return verify();
  } catch (error) {
    throw error instanceof AuthError ? error : ceremonyRefused('verification', error);
  }
}

/**
 * Verifies the authenticator's part of a registration; returns the columns of a passkey. A `packed` statement
 * with a certificate (`x5c`) is refused: browsers that are asked for `none` send none, so parsing untrusted
 * ones would be a risk without a benefit.
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
      credential_id: id,
      public_key: credential.publicKey.toString('base64url'),
      counter,
      aaguid: credential.aaguid,
      device_type: deviceType,
      backed_up: Number(isBackedUp),
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

const collectedClientData = z.object({
  type: z.string(),
  challenge: z.string(),
  origin: z.string(),
  crossOrigin: z.boolean().optional(),
  topOrigin: z.string().optional(),
});

const challengeOnly = collectedClientData.pick({ challenge: true });

/** Decoded client data of which only the challenge has been checked, and only its type. */
type UnverifiedClientData = ReturnType<typeof parseClientData>;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The origins whose pages may take part in ceremonies. */
export const expectedOrigins = (config: Config): string[] => [config.baseUrl, ...config.allowedOrigins];

/** Decodes base64url and accepts only its canonical encoding. @throws {AuthError} `invalid_grant` */
function readBase64url(text: string): Uint8Array<ArrayBuffer> {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.toString('base64url') !== text) throw ceremonyRefused('base64url');
  return new Uint8Array(bytes);
}

/**
 * Decodes client data for its challenge, before anything can be refused: a refused ceremony has to spend it.
 * @throws {AuthError} `invalid_grant` when it has no challenge
 */
export function parseClientData(encoded: string) {
  try {
    const members: unknown = JSON.parse(utf8.decode(new Uint8Array(Buffer.from(encoded, 'base64url'))));
    return { challenge: challengeOnly.parse(members).challenge, members, encoded };
  } catch (error) {
    throw ceremonyRefused('client_data', error);
  }
}

/**
 * Refuses client data that is malformed, of the other ceremony, from a foreign origin, or from a page framed by another
 * site: there, the user cannot see what they agree to.
 * @throws {AuthError} `invalid_grant`
 * @see WebAuthn Level 3 sections 7.1 and 7.2
 */
export function verifyClientData(
  config: Config,
  { members, encoded }: UnverifiedClientData,
  type: 'webauthn.create' | 'webauthn.get',
): void {
  readBase64url(encoded);
  const { data, error } = collectedClientData.safeParse(members);
  if (!data) throw ceremonyRefused('client_data', error);
  if (data.type !== type) throw ceremonyRefused('type');
  if (!expectedOrigins(config).includes(data.origin)) throw ceremonyRefused('origin');
  if (data.crossOrigin === true || data.topOrigin !== undefined) throw ceremonyRefused('cross_origin');
}

const flag = { up: 0x01, uv: 0x04, be: 0x08, bs: 0x10, at: 0x40, ed: 0x80 } as const;

/** Where the parts of authenticator data and of a credential in it begin. */
const offset = { flags: 32, counter: 33, aaguid: 37, idLength: 53, id: 55 } as const;

const hasKeys = (value: CBORType): value is Map<string | number, CBORType> => value instanceof Map;

/** The CBOR map at an offset, and where it ends. @throws {Error} if there is none */
export function readMap(bytes: Uint8Array, start: number) {
  // The library reads the whole buffer of a view.
  const [map, length] = decodePartialCBOR(new Uint8Array(bytes), start);
  if (!hasKeys(map)) throw new Error('not a map');
  return { map, end: start + length };
}

/**
 * Parses all of authenticator data. @see WebAuthn Level 3 sections 6.1 and 6.5.1
 * @throws {Error} if it is malformed
 */
export function parseAuthenticatorData(bytes: Uint8Array) {
  const data = Buffer.from(bytes);
  const flags = data.readUInt8(offset.flags);
  const counter = data.readUInt32BE(offset.counter);
  let end: number = offset.aaguid;
  let credential: ReturnType<typeof readCredential> | undefined;
  if (flags & flag.at) {
    credential = readCredential(data);
    end = credential.end;
  }
  if (flags & flag.ed) end = readMap(data, end).end;
  if (end !== data.length) throw new Error('leftover bytes');
  return {
    rpIdHash: data.subarray(0, offset.flags),
    isUserPresent: (flags & flag.up) !== 0,
    isUserVerified: (flags & flag.uv) !== 0,
    isBackupEligible: (flags & flag.be) !== 0,
    isBackedUp: (flags & flag.bs) !== 0,
    counter,
    credential,
  };
}

function readCredential(data: Buffer) {
  const keyAt = offset.id + data.readUInt16BE(offset.idLength);
  const { map, end } = readMap(data, keyAt);
  const aaguid = data.toString('hex', offset.aaguid, offset.idLength);
  return {
    aaguid: aaguid.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
    id: data.subarray(offset.id, keyAt),
    publicKey: data.subarray(keyAt, end),
    coseKey: map as CoseKey,
    end,
  };
}

const minRsaBits = 2048;
const maxRsaBits = 4096;
const maxRsaExponentBytes = 4;

/** An exponent of 1 lets anyone forge signatures; an even one makes signing impossible. @see RFC 8017 section 3.1 */
const minRsaExponent = 3;

const ed25519Prime = 2n ** 255n - 19n;

/** The y-coordinates of the points of small order. Under such a key, anyone can make signatures. @see RFC 8032 section 5.1.7 */
const smallOrderCoordinates: readonly bigint[] = [
  0n,
  1n,
  ed25519Prime - 1n,
  0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n,
  0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n,
];

/** COSE key parameters. @see RFC 9052 section 7.1, RFC 9053 section 7 */
const cose = { kty: 1, alg: 3, crv: -1, x: -2, y: -3, n: -1, e: -2 } as const;

/** A decoded COSE key. Untrusted: it may have any labels, and values of any type. */
export type CoseKey = ReadonlyMap<number, unknown>;

const bytesOf = (key: CoseKey, label: number): Buffer | undefined => {
  const value = key.get(label);
  return value instanceof Uint8Array ? Buffer.from(value) : undefined;
};

const coseAlgorithm = (key: CoseKey): unknown => key.get(cose.alg);

/** Converts a key whose type and curve belong to its algorithm; undefined for any other. */
function toJwk(key: CoseKey) {
  const [kty, alg, crv] = [key.get(cose.kty), coseAlgorithm(key), key.get(cose.crv)];
  const x = bytesOf(key, cose.x)?.toString('base64url');
  const y = bytesOf(key, cose.y)?.toString('base64url');
  if (alg === -7 && kty === 2 && crv === 1 && x && y) return { kty: 'EC', crv: 'P-256', x, y };
  if (alg === -8 && kty === 1 && crv === 6 && x && hasLargeOrder(bytesOf(key, cose.x)!))
    return { kty: 'OKP', crv: 'Ed25519', x };
  const [n, e] = [bytesOf(key, cose.n), bytesOf(key, cose.e)];
  if (alg === -257 && kty === 3 && n && e && isSafeExponent(e)) {
    return { kty: 'RSA', n: n.toString('base64url'), e: e.toString('base64url') };
  }
  return undefined;
}

function isSafeExponent(e: Buffer): boolean {
  if (e.length === 0 || e.length > maxRsaExponentBytes) return false;
  const exponent = e.readUIntBE(0, e.length);
  return exponent >= minRsaExponent && exponent % 2 === 1;
}

/** The highest bit of a point in little-endian order is the sign of x. */
function hasLargeOrder(point: Buffer): boolean {
  const y = BigInt.asUintN(255, BigInt(`0x${point.reverse().toString('hex')}`));
  return y < ed25519Prime && !smallOrderCoordinates.includes(y);
}

/**
 * Imports a key whose signatures verify at bounded cost: ES256 on P-256, EdDSA on Ed25519, or RS256 with a modulus of
 * 2048 to 4096 bits and a small exponent. Undefined for any other key, and for one under which anyone can sign.
 */
export function importPublicKey(coseKey: CoseKey) {
  const jwk = toJwk(coseKey);
  if (!jwk) return undefined;
  let key: KeyObject;
  try {
    key = createPublicKey({ key: jwk, format: 'jwk' });
  } catch {
    return undefined;
  }
  if (jwk.kty === 'RSA') {
    const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
    if (bits < minRsaBits || bits > maxRsaBits) return undefined;
  }
  const hash = jwk.kty === 'OKP' ? null : 'sha256';
  return { verifies: (signature: Uint8Array, data: Uint8Array) => verify(hash, data, key, signature) };
}

/**
 * Records a use of a passkey. A counter that does not grow suggests a cloned private key: on a single-device passkey the use is refused;
 * a synced passkey legitimately has several authenticators, so there it is only logged.
 * @see WebAuthn Level 3 section 6.1.1
 */
export async function recordUse(
  ctx: Context,
  tx: Executor,
  use: store.PasskeyUse,
  client: ClientInfo,
): Promise<'accepted' | 'clone' | 'removed'> {
  const [advanced] = await store.advanceCounter(tx, use);
  if (advanced) return 'accepted';
  const [replaced] = await store.replaceCounter(tx, use);
  const [passkey] = await store.findPasskey(tx, { id: use.id });
  if (!passkey) return 'removed';
  await recordEvent(ctx, tx, {
    type: 'passkey_clone_suspected',
    userId: use.user_id,
    client,
    detail: { passkey_id: use.id, name: passkey.name, login: replaced ? 'accepted' : 'refused' },
  });
  return replaced ? 'accepted' : 'clone';
}
