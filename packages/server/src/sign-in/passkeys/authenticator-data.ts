import { type CBORType, decodePartialCBOR } from '@levischuck/tiny-cbor';
import type { CoseKey } from './public-key.ts';

const flag = { up: 0x01, uv: 0x04, be: 0x08, bs: 0x10, at: 0x40, ed: 0x80 } as const;

/** Where the parts of authenticator data and of a credential in it begin. */
const offset = { flags: 32, counter: 33, aaguid: 37, idLength: 53, id: 55 } as const;

const hasKeys = (value: CBORType): value is Map<string | number, CBORType> => value instanceof Map;

/**
 * The CBOR map at an offset, and where it ends.
 * @throws {Error} if there is none
 */
export function readMap(bytes: Uint8Array, start: number) {
  // The library reads the whole buffer of a view.
  const [map, length] = decodePartialCBOR(new Uint8Array(bytes), start);
  if (!hasKeys(map)) throw new Error('not a map');
  return { map, end: start + length };
}

/**
 * Parses authenticator data, all of it.
 * @throws {Error} if it is malformed
 * @see WebAuthn Level 3 sections 6.1 and 6.5.1
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
