import type { PublicKey } from '@latchkey/contract/services';
import {
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
  type JWTPayload,
  SignJWT,
} from 'jose';
import type { Context } from '../../platform/context.ts';
import { decrypt, encrypt } from '../../platform/crypto/encryption.ts';
import type { Executor } from '../../platform/database/executor.ts';
import type { Tables } from '../../platform/database/schema.ts';
import { conflict } from '../../platform/errors.ts';
import * as store from './store.ts';

/** How long a replaced key stays published: as long as the events that it signed are kept. */
export const overlapSeconds = 7 * 86_400;

/** What decides whether a key is published and signs, in milliseconds since 1970. */
type KeyTimes = Pick<Tables['signing_keys'], 'signs_from'>;

/** The signing key, upcoming ones, and those replaced less than the overlap ago, newest first. */
export function publishedKeys<Key extends KeyTimes>(
  newestFirst: readonly Key[],
  now: number,
  overlap = overlapSeconds,
): Key[] {
  let replacedAt = Number.POSITIVE_INFINITY;
  return newestFirst.filter((key) => {
    const isPublished = now < replacedAt + overlap * 1000;
    replacedAt = Math.min(replacedAt, key.signs_from);
    return isPublished;
  });
}

/** The published keys that may sign now, the preferred one first. */
export const signingCandidates = <Key extends KeyTimes>(newestFirst: readonly Key[], now: number): Key[] =>
  publishedKeys(newestFirst, now).filter((key) => key.signs_from <= now);

/** What signs introspection responses and events of the feed. */
export const signingAlgorithm = 'ES256';

/** What signs identity tokens. Every OpenID client can verify it. @see OpenID Connect Core section 15.1 */
export const identityAlgorithm = 'RS256';

const algorithms = [signingAlgorithm, identityAlgorithm] as const;
type Algorithm = (typeof algorithms)[number];

/** How long a verifier may cache the published keys. */
export const keySetMaxAgeSeconds = 300;

/** How long a new key is published before it signs, so that every verifier has fetched it by then. */
export const leadSeconds = 3 * keySetMaxAgeSeconds;

/** A rotation waits longer than this between its steps, so that an outdated list signs as well. */
const rereadMs = 5_000;

/** How long it takes until every node publishes and signs with the keys that are stored now. */
export const everyNodeFollowsMs = rereadMs + 1_000;

const encryptionLabel = 'signing key';

type KeyRow = Awaited<ReturnType<typeof store.listKeys>>[number];

interface Signer {
  readonly kid: string;
  readonly key: CryptoKey;
}

interface LoadedKeys {
  readonly published: readonly PublicKey[];
  readonly identity: readonly PublicKey[];
  readonly signers: Readonly<Record<Algorithm, Signer>>;
}

export type SigningKeys = ReturnType<typeof openSigningKeys>;

/**
 * The keys that sign introspection responses, events of the feed and identity tokens. The first
 * ones are created at their first use.
 */
export function openSigningKeys(ctx: Context) {
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
    /** The public keys, newest first; never empty. */
    published: async () => (await current()).published,
    /** The public keys of identity tokens that come back as a hint, whose keys need not be published any more. */
    identity: async () => (await current()).identity,
    /** Signs a compact JWS with this `typ`. */
    sign: async (type: string, payload: JWTPayload, algorithm: Algorithm = signingAlgorithm) => {
      const signer = (await current()).signers[algorithm];
      return new SignJWT(payload)
        .setProtectedHeader({ alg: algorithm, kid: signer.kid, typ: type })
        .sign(signer.key);
    },
  };
}

async function load(ctx: Context): Promise<LoadedKeys> {
  const rows = await store.listKeys(ctx.db.read, {});
  const now = ctx.clock();
  const signers: { [A in Algorithm]?: Signer | undefined } = {};
  for (const algorithm of algorithms) {
    for (const row of signingCandidates(rowsOf(rows, algorithm), now))
      signers[algorithm] ??= await signerOf(ctx, row);
    if (signers[algorithm]) continue;
    // No key yet, or none that this ring can decrypt: the next key signs at once, whichever node creates it.
    await addKey(ctx, ctx.db.single, algorithm, nextSequence(rows), now);
    return load(ctx);
  }
  return {
    signers: signers as Record<Algorithm, Signer>,
    published: publishedRows(rows, now).map(publicKeyOf),
    identity: rowsOf(rows, identityAlgorithm).map(publicKeyOf),
  };
}

/** The keys of one algorithm, newest first. Each algorithm has its own succession of keys. */
const rowsOf = (rows: readonly KeyRow[], algorithm: Algorithm): KeyRow[] =>
  rows.filter((row) => publicKeyOf(row).alg === algorithm);

const publishedRows = (rows: readonly KeyRow[], now: number, overlap?: number): KeyRow[] =>
  algorithms.flatMap((algorithm) => publishedKeys(rowsOf(rows, algorithm), now, overlap));

const signingRows = (rows: readonly KeyRow[], now: number): KeyRow[] =>
  algorithms.flatMap((algorithm) => signingCandidates(rowsOf(rows, algorithm), now).slice(0, 1));

const nextSequence = (newestFirst: readonly KeyRow[]): number => (newestFirst[0]?.sequence ?? 0) + 1;

const publicKeyOf = (row: KeyRow): PublicKey => JSON.parse(row.public_jwk) as PublicKey;

/** Decrypts a private key, and re-encrypts it with the newest server key, so that others can be retired. */
async function signerOf(ctx: Context, row: KeyRow): Promise<Signer | undefined> {
  const decrypted = decrypt(ctx.keys, encryptionLabel, row.kid, row.sealed_private);
  if (!decrypted) return undefined;
  if (decrypted.key !== ctx.keys.signing) {
    const to = encrypt(ctx.keys, ctx.random, encryptionLabel, row.kid, decrypted.secret);
    await store.reencryptKey(ctx.db.single, { sequence: row.sequence, from: row.sealed_private, to });
  }
  const publicKey = publicKeyOf(row);
  const jwk = { ...publicKey, ...(JSON.parse(decrypted.secret.toString()) as JWK) };
  return { kid: row.kid, key: (await importJWK(jwk, publicKey.alg)) as CryptoKey };
}

/** Creates the key with this sequence number; false when another caller already has. */
async function addKey(ctx: Context, on: Executor, algorithm: Algorithm, sequence: number, signsFrom: number) {
  const { publicKey, privateKey } = await generateKeyPair(algorithm, { extractable: true });
  const shared = await exportJWK(publicKey);
  const kid = await calculateJwkThumbprint(shared);
  const secret = Object.fromEntries(
    Object.entries(await exportJWK(privateKey)).filter(([name]) => !(name in shared)),
  );
  const rows = await store.insertKey(on, {
    sequence,
    kid,
    public_jwk: JSON.stringify({ ...shared, kid, alg: algorithm, use: 'sig' }),
    sealed_private: encrypt(ctx.keys, ctx.random, encryptionLabel, kid, Buffer.from(JSON.stringify(secret))),
    signs_from: signsFrom,
  });
  return rows.length === 1;
}

/**
 * Creates the next signing keys, for the operator. They sign after `leadSeconds`; the previous ones stay
 * published for another week, and stored for as long as identity tokens of sessions come back as hints. With
 * `atOnce`, after a leak, they sign as soon as every node publishes them: then call `deleteReplacedKeys`.
 * @returns when they start to sign, in milliseconds since 1970
 * @throws {AuthError} `conflict` when another rotation was faster
 */
export async function rotateSigningKey(ctx: Context, { atOnce }: { atOnce: boolean }): Promise<number> {
  const now = ctx.clock();
  const rows = await store.listKeys(ctx.db.read, {});
  const sequence = nextSequence(rows);
  const signsFrom = rows.length === 0 ? now : now + (atOnce ? everyNodeFollowsMs : leadSeconds * 1000);
  const isAdded = await ctx.db.transaction(async (tx) => {
    for (const [index, algorithm] of algorithms.entries())
      if (!(await addKey(ctx, tx, algorithm, sequence + index, signsFrom))) return false;
    return true;
  });
  if (!isAdded) {
    throw conflict('The signing keys were just rotated by someone else. Try again if you need another key.');
  }
  const overlap = Math.max(overlapSeconds, ctx.config.sessionTtlSeconds);
  const oldestInUse = Math.min(sequence, ...publishedRows(rows, now, overlap).map((row) => row.sequence));
  await store.deleteKeysBefore(ctx.db.single, { sequence: oldestInUse });
  return signsFrom;
}

/**
 * Deletes the keys older than those that sign. Call it `2 * everyNodeFollowsMs` after a rotation `atOnce`:
 * then every node signs with the new ones, so no signature is served that cannot be verified.
 */
export async function deleteReplacedKeys(ctx: Context): Promise<void> {
  const rows = await store.listKeys(ctx.db.read, {});
  const sequence = Math.min(...signingRows(rows, ctx.clock()).map((row) => row.sequence));
  await store.deleteKeysBefore(ctx.db.single, { sequence });
}

/** Newest first for each algorithm. `serverKey` can decrypt it, if it is in the ring. */
export async function listSigningKeys(ctx: Context) {
  const rows = await store.listKeys(ctx.db.read, {});
  const now = ctx.clock();
  const signing = signingRows(rows, now);
  return publishedRows(rows, now).map(
    (row) =>
      ({
        kid: row.kid,
        algorithm: publicKeyOf(row).alg,
        state: signing.includes(row) ? 'signing' : row.signs_from > now ? 'next' : 'accepted',
        signsFrom: row.signs_from,
        serverKey: decrypt(ctx.keys, encryptionLabel, row.kid, row.sealed_private)?.key,
      }) as const,
  );
}
