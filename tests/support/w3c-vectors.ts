// Generates the test vectors of WebAuthn Level 3 by the rules of its section 16: all random values are derived from a
// known text by HKDF-SHA-256, ECDSA nonces follow RFC 6979, and the RSA modulus is the product of two Mersenne primes.

import { createHash, createPublicKey, hkdfSync } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519.js';
import { p256 } from '@noble/curves/nist.js';
import { type Algorithm, base64url, cbor, coseKey, flag } from './authenticator.ts';

const inputKeyMaterial = 'WebAuthn test vectors';
const rpId = 'example.org';
const origin = 'https://example.org';
const topOrigin = 'https://example.com';

export interface VectorKind {
  readonly algorithm: Algorithm;
  readonly attestation: 'none' | 'packed-self' | 'packed';
  readonly crossOrigin?: boolean;
  readonly topOrigin?: boolean;
  readonly credentialIdBytes?: number;
}

/** One registration and one sign-in with its credential, in the bytes sent over the wire. */
export interface Vector {
  readonly credentialId: Buffer;
  readonly registration: {
    readonly challenge: Buffer;
    readonly clientDataJSON: Buffer;
    readonly attestationObject: Buffer;
    /** The flags byte of the authenticator data. */
    readonly flags: number;
  };
  readonly authentication: {
    readonly challenge: Buffer;
    readonly clientDataJSON: Buffer;
    readonly authenticatorData: Buffer;
    readonly signature: Buffer;
    readonly flags: number;
  };
}

type Draw = (bytes: number) => Buffer;

/** Derives successive values, counted by the salt. */
function draws(info: string): Draw {
  let drawn = 0;
  return (bytes) => Buffer.from(hkdfSync('sha256', inputKeyMaterial, Buffer.of(drawn++), info, bytes));
}

interface Key {
  readonly cose: Buffer;
  sign(data: Uint8Array): Buffer;
}

/** The parameters of a JWK public key, in COSE form. */
const inCose = (algorithm: Algorithm, key: JsonWebKey): Buffer =>
  coseKey(algorithm, createPublicKey({ key, format: 'jwk' }));

const signEs256 = (secret: Uint8Array, data: Uint8Array): Buffer =>
  Buffer.from(p256.sign(data, secret, { lowS: false, format: 'der' }));

function es256(secret: Uint8Array): Key {
  const point = p256.getPublicKey(secret, false);
  const [x, y] = [base64url(point.subarray(1, 33)), base64url(point.subarray(33))];
  return {
    cose: inCose('ES256', { kty: 'EC', crv: 'P-256', x, y }),
    sign: (data) => signEs256(secret, data),
  };
}

function eddsa(secret: Uint8Array): Key {
  const x = base64url(ed25519.getPublicKey(secret));
  return {
    cose: inCose('EdDSA', { kty: 'OKP', crv: 'Ed25519', x }),
    sign: (data) => Buffer.from(ed25519.sign(data, secret)),
  };
}

const numberOf = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).toString('hex')}`);

const bytesOf = (number: bigint): Buffer => {
  const hex = number.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
};

function power(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let [result, square] = [1n, base];
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % modulus;
    square = (square * square) % modulus;
  }
  return result;
}

/** The inverse of `number`, by Euclid's extended algorithm. */
function inverse(number: bigint, modulus: bigint): bigint {
  let [a, b, x, y] = [number, modulus, 1n, 0n];
  while (b !== 0n) [a, b, x, y] = [b, a % b, y, x - (a / b) * y];
  return ((x % modulus) + modulus) % modulus;
}

const digestInfoOfSha256 = Buffer.from('3031300d060960864801650304020105000420', 'hex');

/** The RSA key of the vectors. Crypto libraries reject it because its primes differ too much in length. */
function rs256(): Key {
  const [p, q, e] = [2n ** 1279n - 1n, 2n ** 2203n - 1n, 65_537n];
  const n = p * q;
  const d = inverse(e, (p - 1n) * (q - 1n));
  const modulus = bytesOf(n);
  return {
    cose: inCose('RS256', { kty: 'RSA', n: base64url(modulus), e: base64url(bytesOf(e)) }),
    sign: (data) => {
      // RSASSA-PKCS1-v1_5, RFC 8017 section 8.2.
      const digest = Buffer.concat([digestInfoOfSha256, sha256(data)]);
      const padding = Buffer.alloc(modulus.length - digest.length - 3, 0xff);
      const padded = Buffer.concat([Buffer.of(0, 1), padding, Buffer.of(0), digest]);
      const signature = bytesOf(power(numberOf(padded), d, n));
      return Buffer.concat([Buffer.alloc(modulus.length - signature.length), signature]);
    },
  };
}

function credentialKey(algorithm: Algorithm, draw: Draw): Key {
  if (algorithm === 'RS256') return rs256();
  return algorithm === 'ES256' ? es256(draw(32)) : eddsa(draw(32));
}

const sha256 = (data: Uint8Array | string): Buffer => createHash('sha256').update(data).digest();
const sha1 = (data: Uint8Array): Buffer => createHash('sha1').update(data).digest();

/** Tag, length and content. @see X.690 */
function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const length = bytesOf(BigInt(content.length));
  const head =
    content.length < 0x80
      ? Buffer.of(content.length)
      : Buffer.concat([Buffer.of(0x80 | length.length), length]);
  return Buffer.concat([Buffer.of(tag), head, content]);
}

const sequence = (...parts: Uint8Array[]): Buffer => der(0x30, ...parts);
const objectId = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
const octets = (...parts: Uint8Array[]): Buffer => der(0x04, ...parts);
const bits = (content: Uint8Array): Buffer => der(0x03, Buffer.of(0), content);
const critical = der(0x01, Buffer.of(0xff));

const unsigned = (bytes: Buffer): Buffer => {
  const number = bytesOf(numberOf(bytes));
  return der(0x02, number[0]! < 0x80 ? number : Buffer.concat([Buffer.of(0), number]));
};

const nameOf = (unit: string): Buffer => {
  const part = (type: string, tag: number, text: string) =>
    der(0x31, sequence(objectId(type), der(tag, Buffer.from(text))));
  const utf8String = 0x0c;
  const printableString = 0x13;
  return sequence(
    part('550403', utf8String, 'WebAuthn test vectors'),
    part('55040a', utf8String, 'W3C'),
    part('55040b', utf8String, unit),
    part('550406', printableString, 'AA'),
  );
};

/** The certificate of an attestation key, issued by the CA of the vectors. @see RFC 5280 */
function certificate(serial: Buffer, attestationKey: Uint8Array): Buffer {
  const authorityKey = draws('Attestation CA')(32);
  const point = p256.getPublicKey(attestationKey, false);
  const keyId = sha1(point);
  const authorityKeyId = sha1(p256.getPublicKey(authorityKey, false));
  const ecdsaWithSha256 = sequence(objectId('2a8648ce3d040302'));
  const key = sequence(sequence(objectId('2a8648ce3d0201'), objectId('2a8648ce3d030107')), bits(point));
  const validity = sequence(
    der(0x17, Buffer.from('240101000000Z')),
    der(0x18, Buffer.from('30240101000000Z')),
  );
  const extensions = sequence(
    sequence(objectId('551d13'), critical, octets(sequence())),
    sequence(objectId('551d0f'), critical, octets(Buffer.from('03020780', 'hex'))),
    sequence(objectId('551d0e'), octets(octets(keyId))),
    sequence(objectId('551d23'), octets(sequence(der(0x80, authorityKeyId)))),
  );
  const signed = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    unsigned(serial),
    ecdsaWithSha256,
    nameOf('Authenticator Attestation CA'),
    validity,
    nameOf('Authenticator Attestation'),
    key,
    der(0xa3, extensions),
  );
  return sequence(signed, ecdsaWithSha256, bits(signEs256(authorityKey, signed)));
}

function clientData(type: string, challenge: Buffer, kind: VectorKind, draw: Draw): Buffer {
  const extended = (draw(1)[0]! & 1) === 1;
  return Buffer.from(
    JSON.stringify({
      type,
      challenge: base64url(challenge),
      origin,
      crossOrigin: kind.crossOrigin === true,
      ...(kind.topOrigin ? { topOrigin } : {}),
      ...(extended
        ? {
            extraData: `clientDataJSON may be extended with additional fields in the future, such as this: ${base64url(draw(16))}`,
          }
        : {}),
    }),
  );
}

const authenticatorDataOf = (flags: number, attested: Uint8Array = new Uint8Array()): Buffer =>
  Buffer.concat([sha256(rpId), Buffer.of(flags), Buffer.alloc(4), attested]);

/** Both ceremonies of one vector; `info` names it in the derivation, as in `none.ES256`. */
export function deriveVector(info: string, kind: VectorKind): Vector {
  const draw = draws(info);

  const creationChallenge = draw(32);
  const key = credentialKey(kind.algorithm, draw);
  const creationData = clientData('webauthn.create', creationChallenge, kind, draw);
  const aaguid = draw(16);
  const credentialId = draw(kind.credentialIdBytes ?? 32);
  const drawnFlags = draw(1)[0]! & (flag.uv | flag.be | flag.bs);
  const eligible = drawnFlags & flag.be;
  const creationFlags = flag.up | flag.at | (eligible ? drawnFlags : drawnFlags & flag.uv);
  const idLength = Buffer.of(credentialId.length >> 8, credentialId.length & 0xff);
  const authData = authenticatorDataOf(
    creationFlags,
    Buffer.concat([aaguid, idLength, credentialId, key.cose]),
  );
  const toAttest = Buffer.concat([authData, sha256(creationData)]);
  const statement = new Map<string, number | Uint8Array | Uint8Array[]>();
  if (kind.attestation === 'packed-self') statement.set('alg', -7).set('sig', key.sign(toAttest));
  if (kind.attestation === 'packed') {
    const [attestationKey, serial] = [draw(32), draw(16)];
    statement.set('alg', -7).set('sig', signEs256(attestationKey, toAttest));
    statement.set('x5c', [certificate(serial, attestationKey)]);
  }
  const attestationObject = cbor(
    new Map<string, string | Uint8Array | typeof statement>([
      ['fmt', kind.attestation === 'none' ? 'none' : 'packed'],
      ['attStmt', statement],
      ['authData', authData],
    ]),
  );

  const requestChallenge = draw(32);
  const requestData = clientData('webauthn.get', requestChallenge, kind, draw);
  const loginFlags = flag.up | eligible | (draw(1)[0]! & (eligible ? flag.uv | flag.bs : flag.uv));
  const authenticatorData = authenticatorDataOf(loginFlags);
  return {
    credentialId,
    registration: {
      challenge: creationChallenge,
      clientDataJSON: creationData,
      attestationObject,
      flags: creationFlags,
    },
    authentication: {
      challenge: requestChallenge,
      clientDataJSON: requestData,
      authenticatorData,
      signature: key.sign(Buffer.concat([authenticatorData, sha256(requestData)])),
      flags: loginFlags,
    },
  };
}
