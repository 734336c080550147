import type { PublicKey } from '@latchkey/contract/services';
import {
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWTPayload,
  SignJWT,
} from 'jose';
import type { Context } from '../../platform/context.ts';
import { decrypt, encrypt } from '../../platform/crypto/encryption.ts';
import type { ServerKey } from '../../platform/crypto/key-ring.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { AuthError } from '../../platform/errors.ts';
import { publishedKeys, signingCandidates } from './rotation.ts';
import * as store from './store.ts';

export const signingAlgorithm = 'ES256';

/** How long a verifier may cache the published keys. */
export const keySetMaxAgeSeconds = 300;

/** How long a new key is published before it signs, so that every verifier has fetched it by then. */
export const leadSeconds = 3 * keySetMaxAgeSeconds;

/**
 * How long a node caches the keys. A planned rotation leaves more than this between publishing, signing and deleting, so
 * an outdated list signs as well as the current one.
 */
const rereadMs = 5_000;

/** How long it takes until every node publishes and signs with the keys that are stored now. */
export const followMs = rereadMs + 1_000;

const encryptionLabel = 'signing key';

type KeyRow = Awaited<ReturnType<typeof store.listKeys>>[number];

interface Signer {
  readonly kid: string;
  readonly key: CryptoKey;
}

interface LoadedKeys {
  readonly published: readonly PublicKey[];
  readonly signer: Signer;
}

export interface SigningKeys {
  /** The public keys, newest first; never empty. */
  published(): Promise<readonly PublicKey[]>;
  /** Signs a compact JWS with this `typ`. */
  sign(type: string, payload: JWTPayload): Promise<string>;
}

/** The keys that sign introspection responses and events of the feed. The first one is created at its first use. */
export function openSigningKeys(ctx: Context): SigningKeys {
  let loaded: Promise<LoadedKeys> | undefined;
  let readAt = Number.NEGATIVE_INFINITY;
  const current = (): Promise<LoadedKeys> => {
    const now = ctx.clock();
    if (loaded && Math.abs(now - readAt) < rereadMs) return loaded;
    readAt = now;
    const loading = load(ctx);
    loaded = loading;
    loading.catch(() => {
      if (loaded === loading) loaded = undefined;
    });
    return loading;
  };
  return {
    published: async () => (await current()).published,
    sign: async (type, payload) => {
      const { signer } = await current();
      return new SignJWT(payload)
        .setProtectedHeader({ alg: signingAlgorithm, kid: signer.kid, typ: type })
        .sign(signer.key);
    },
  };
}

async function load(ctx: Context): Promise<LoadedKeys> {
  const rows = await store.listKeys(ctx.db.read, {});
  const now = ctx.clock();
  for (const row of signingCandidates(rows, now)) {
    const signer = await signerOf(ctx, row);
    if (signer) return { signer, published: publishedKeys(rows, now).map(publicKeyOf) };
  }
  // No key yet, or none that this ring can decrypt: the next key signs at once, whichever node creates it.
  await addKey(ctx, ctx.db.single, nextSequence(rows), now);
  return load(ctx);
}

const nextSequence = (newestFirst: readonly KeyRow[]): number => (newestFirst[0]?.sequence ?? 0) + 1;

const publicKeyOf = (row: KeyRow): PublicKey => JSON.parse(row.public_jwk) as PublicKey;

/** Decrypts the private key of a row, and re-encrypts it with the newest server key, so that older ones can be retired. */
async function signerOf(ctx: Context, row: KeyRow): Promise<Signer | undefined> {
  const decrypted = decrypt(ctx.keys, encryptionLabel, row.kid, row.sealed_private);
  if (!decrypted) return undefined;
  if (decrypted.key !== ctx.keys.signing) {
    const to = encrypt(ctx.keys, ctx.random, encryptionLabel, row.kid, decrypted.secret);
    await store.reencryptKey(ctx.db.single, { sequence: row.sequence, from: row.sealed_private, to });
  }
  const jwk = { ...publicKeyOf(row), d: decrypted.secret.toString('base64url') };
  return { kid: row.kid, key: (await importJWK(jwk, signingAlgorithm)) as CryptoKey };
}

/** Creates the key with this sequence number; false when another caller already has. */
async function addKey(ctx: Context, on: Executor, sequence: number, signsFrom: number): Promise<boolean> {
  const { publicKey, privateKey } = await generateKeyPair(signingAlgorithm, { extractable: true });
  const { kty, crv, x, y } = await exportJWK(publicKey);
  const kid = await calculateJwkThumbprint({ kty, crv, x, y } as PublicKey);
  const { d } = await exportJWK(privateKey);
  const rows = await store.insertKey(on, {
    sequence,
    kid,
    public_jwk: JSON.stringify({ kty, crv, x, y, kid, alg: signingAlgorithm, use: 'sig' }),
    sealed_private: encrypt(ctx.keys, ctx.random, encryptionLabel, kid, Buffer.from(d!, 'base64url')),
    signs_from: signsFrom,
  });
  return rows.length === 1;
}

/**
 * Creates the next signing key for the operator. It is published now and signs after `leadSeconds`; the previous key
 * stays published for another week. With `atOnce`, after a leak, it signs now and all other keys are deleted.
 * @returns when it starts to sign, in milliseconds since 1970
 * @throws {AuthError} `conflict` when another rotation was faster
 */
export async function rotateSigningKey(ctx: Context, { atOnce }: { atOnce: boolean }): Promise<number> {
  const now = ctx.clock();
  const rows = await store.listKeys(ctx.db.read, {});
  const sequence = nextSequence(rows);
  const signsFrom = atOnce || rows.length === 0 ? now : now + leadSeconds * 1000;
  if (!(await addKey(ctx, ctx.db.single, sequence, signsFrom))) {
    throw new AuthError(
      'conflict',
      'The signing keys were just rotated by someone else. Try again if you need another key.',
    );
  }
  const oldestInUse = atOnce ? sequence : (publishedKeys(rows, now).at(-1)?.sequence ?? sequence);
  await store.deleteKeysBefore(ctx.db.single, { sequence: oldestInUse });
  return signsFrom;
}

/** A signing key as operators see it. */
export interface ListedSigningKey {
  readonly kid: string;
  /** `next` signs from `signsFrom` on; `accepted` was replaced and is still published. */
  readonly state: 'signing' | 'next' | 'accepted';
  /** Milliseconds since 1970. */
  readonly signsFrom: number;
  /** The server key that can decrypt it, if it is in the ring. */
  readonly serverKey: ServerKey | undefined;
}

/** The published signing keys, newest first. */
export async function listSigningKeys(ctx: Context): Promise<ListedSigningKey[]> {
  const rows = await store.listKeys(ctx.db.read, {});
  const now = ctx.clock();
  const [signing] = signingCandidates(rows, now);
  return publishedKeys(rows, now).map((row) => ({
    kid: row.kid,
    state: row === signing ? 'signing' : row.signs_from > now ? 'next' : 'accepted',
    signsFrom: row.signs_from,
    serverKey: decrypt(ctx.keys, encryptionLabel, row.kid, row.sealed_private)?.key,
  }));
}
