// An authenticator and its browser in software: real keys and signatures, and every field can be forged.

import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { type CBORType, encodeCBOR } from '@levischuck/tiny-cbor';

export type Algorithm = 'ES256' | 'EdDSA' | 'RS256';

/** Bits of the flags byte. @see WebAuthn Level 3 section 6.1 */
export const flag = { up: 0x01, uv: 0x04, be: 0x08, bs: 0x10, at: 0x40, ed: 0x80 } as const;

export interface CreationOptions {
  readonly challenge: string;
  readonly rp: { readonly id: string };
  readonly user: { readonly id: string };
}

export interface RequestOptions {
  readonly challenge: string;
  readonly rpId: string;
}

/** What an attacker could forge in either ceremony. */
interface Forgery {
  readonly challenge?: string;
  readonly origin?: string;
  readonly type?: string;
  readonly rpId?: string;
  /** The flags byte; at registration AT (0x40) is part of it. */
  readonly flags?: number;
  readonly counter?: number;
  /** Additional members of the client data, such as crossOrigin. */
  readonly clientData?: Readonly<Record<string, unknown>>;
  /** Replaces the complete client data. */
  readonly clientDataText?: string;
  readonly id?: string;
  readonly rawId?: string;
  readonly transports?: readonly string[];
  /** Bytes after the authenticator data. */
  readonly trailing?: Uint8Array;
}

export interface RegistrationForgery extends Forgery {
  readonly aaguid?: string;
  readonly attestation?: 'none' | 'packed' | 'packed forged' | 'packed with a foreign key' | 'tpm';
  /** The algorithm in the attestation statement, which a `none` attestation then has, too. */
  readonly statementAlg?: number;
  /** The certificate chain in the attestation statement. */
  readonly x5c?: CBORType;
  readonly publicKey?: Uint8Array;
  readonly attestationObject?: Uint8Array;
}

export interface AssertionForgery extends Forgery {
  readonly userHandle?: string | null;
  readonly authenticatorData?: Uint8Array;
  readonly signature?: Uint8Array;
  /** Signs with the key of another credential. */
  readonly signedBy?: Credential;
}

/** A discoverable credential, as stored by the authenticator. */
export interface Credential {
  readonly id: string;
  readonly algorithm: Algorithm;
  readonly userHandle: string;
  readonly rpId: string;
  readonly privateKey: KeyObject;
  counter: number;
}

const sha256 = (data: Uint8Array | string): Buffer => createHash('sha256').update(data).digest();

export const base64url = (data: Uint8Array | string): string => Buffer.from(data).toString('base64url');

const coseAlgorithm: Record<Algorithm, number> = { ES256: -7, EdDSA: -8, RS256: -257 };

function generate(algorithm: Algorithm): { publicKey: KeyObject; privateKey: KeyObject } {
  if (algorithm === 'ES256') return generateKeyPairSync('ec', { namedCurve: 'P-256' });
  if (algorithm === 'EdDSA') return generateKeyPairSync('ed25519');
  return generateKeyPairSync('rsa', { modulusLength: 2048 });
}

/** A public key in COSE format. */
export function coseKey(algorithm: Algorithm, publicKey: KeyObject): Buffer {
  const jwk = publicKey.export({ format: 'jwk' });
  const bytes = (text: string | undefined): Buffer => Buffer.from(text ?? '', 'base64url');
  const alg = coseAlgorithm[algorithm];
  const keys: Record<Algorithm, Readonly<Record<string, CBORType>>> = {
    ES256: { 1: 2, 3: alg, '-1': 1, '-2': bytes(jwk.x), '-3': bytes(jwk.y) },
    EdDSA: { 1: 1, 3: alg, '-1': 6, '-2': bytes(jwk.x) },
    RS256: { 1: 3, 3: alg, '-1': bytes(jwk.n), '-2': bytes(jwk.e) },
  };
  const entries = Object.entries(keys[algorithm]).map(([label, value]) => [Number(label), value] as const);
  return Buffer.from(encodeCBOR(new Map(entries)));
}

const signWith = (algorithm: Algorithm, key: KeyObject, data: Uint8Array): Buffer =>
  sign(algorithm === 'EdDSA' ? null : 'sha256', data, key);

const unknownProduct = '00000000-0000-0000-0000-000000000000';

export interface AuthenticatorOptions {
  readonly origin: string;
  readonly algorithm?: Algorithm;
  readonly aaguid?: string;
  /** The flags of every ceremony. Default: UP and UV. */
  readonly flags?: number;
  /** Whether it counts its signatures. Many do not and always report 0. */
  readonly counts?: boolean;
}

export type Authenticator = ReturnType<typeof createAuthenticator>;
export type Assertion = ReturnType<Authenticator['get']>;

/** A new authenticator without credentials, attached to a browser that shows a page of `origin`. */
export function createAuthenticator(options: AuthenticatorOptions) {
  const algorithm = options.algorithm ?? 'ES256';
  const baseFlags = options.flags ?? flag.up | flag.uv;
  const credentials: Credential[] = [];

  const clientDataOf = (type: string, challenge: string, forgery: Forgery): Buffer =>
    Buffer.from(
      forgery.clientDataText ??
        JSON.stringify({
          type: forgery.type ?? type,
          challenge: forgery.challenge ?? challenge,
          origin: forgery.origin ?? options.origin,
          crossOrigin: false,
          ...forgery.clientData,
        }),
    );

  const authenticatorDataOf = (
    rpId: string,
    flags: number,
    counter: number,
    forgery: Forgery,
    attested: Uint8Array = new Uint8Array(),
  ): Buffer => {
    const count = Buffer.alloc(4);
    count.writeUInt32BE(forgery.counter ?? counter);
    return Buffer.concat([
      sha256(forgery.rpId ?? rpId),
      Buffer.from([forgery.flags ?? flags]),
      count,
      attested,
      forgery.trailing ?? new Uint8Array(),
    ]);
  };

  const named = (credential: Credential, { id = credential.id, rawId = id }: Forgery) =>
    ({ id, rawId, type: 'public-key', authenticatorAttachment: 'platform' }) as const;

  /** The result of `navigator.credentials.create` as JSON. @see WebAuthn Level 3 section 5.1.8 */
  const create = (creation: CreationOptions, forgery: RegistrationForgery = {}) => {
    const { publicKey, privateKey } = generate(algorithm);
    const id = randomBytes(32);
    const idLength = Buffer.alloc(2);
    idLength.writeUInt16BE(id.length);
    const aaguid = (forgery.aaguid ?? options.aaguid ?? unknownProduct).replaceAll('-', '');
    const attested = Buffer.concat([
      Buffer.from(aaguid, 'hex'),
      idLength,
      id,
      forgery.publicKey ?? coseKey(algorithm, publicKey),
    ]);
    const credential = {
      id: base64url(id),
      algorithm,
      userHandle: creation.user.id,
      rpId: creation.rp.id,
      privateKey,
      counter: 0,
    };
    const clientData = clientDataOf('webauthn.create', creation.challenge, forgery);
    const authData = authenticatorDataOf(creation.rp.id, baseFlags | flag.at, 0, forgery, attested);
    const kind = forgery.attestation ?? 'none';
    const signed = Buffer.concat([authData, sha256(clientData)]);
    const statement = new Map<string, CBORType>();
    if (kind !== 'none') {
      const key = kind === 'packed with a foreign key' ? generate(algorithm).privateKey : privateKey;
      const signature = signWith(algorithm, key, signed);
      if (kind === 'packed forged') signature[signature.length - 1]! ^= 1;
      statement.set('alg', coseAlgorithm[algorithm]).set('sig', signature);
    }
    if (forgery.statementAlg !== undefined) statement.set('alg', forgery.statementAlg);
    if (forgery.x5c !== undefined) statement.set('x5c', forgery.x5c);
    const attestationObject =
      forgery.attestationObject ??
      encodeCBOR(
        new Map<string, CBORType>([
          ['fmt', kind.split(' ')[0]!],
          ['attStmt', statement],
          ['authData', authData],
        ]),
      );
    credentials.push(credential);
    return {
      ...named(credential, forgery),
      clientExtensionResults: { credProps: { rk: true } },
      response: {
        clientDataJSON: base64url(clientData),
        attestationObject: base64url(attestationObject),
        authenticatorData: base64url(authData),
        transports: [...(forgery.transports ?? ['internal', 'hybrid'])],
        publicKeyAlgorithm: coseAlgorithm[algorithm],
      },
    };
  };

  /** The result of `navigator.credentials.get` as JSON, for the newest credential unless one is given. */
  const get = (request: RequestOptions, forgery: AssertionForgery = {}, credential = credentials.at(-1)) => {
    if (!credential) throw new Error('the authenticator holds no credential');
    if (options.counts) credential.counter += 1;
    const clientData = clientDataOf('webauthn.get', request.challenge, forgery);
    const authData =
      forgery.authenticatorData ?? authenticatorDataOf(request.rpId, baseFlags, credential.counter, forgery);
    const signer = forgery.signedBy ?? credential;
    const signature =
      forgery.signature ??
      signWith(signer.algorithm, signer.privateKey, Buffer.concat([authData, sha256(clientData)]));
    return {
      ...named(credential, forgery),
      clientExtensionResults: {},
      response: {
        clientDataJSON: base64url(clientData),
        authenticatorData: base64url(authData),
        signature: base64url(signature),
        ...(forgery.userHandle === null ? {} : { userHandle: forgery.userHandle ?? credential.userHandle }),
      },
    };
  };

  return { credentials, create, get };
}
