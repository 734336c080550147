import { createPublicKey, type KeyObject, verify } from 'node:crypto';

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

export const coseAlgorithm = (key: CoseKey): unknown => key.get(cose.alg);

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

/** A public key, ready to verify signatures. */
export interface PublicKey {
  verifies(signature: Uint8Array, data: Uint8Array): boolean;
}

/**
 * Imports a key whose signatures verify at bounded cost: ES256 on P-256, EdDSA on Ed25519, or RS256 with a modulus of
 * 2048 to 4096 bits and a small exponent. Undefined for any other key, and for one under which anyone can sign.
 */
export function importPublicKey(coseKey: CoseKey): PublicKey | undefined {
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
  return { verifies: (signature, data) => verify(hash, data, key, signature) };
}
