import { timingSafeEqual } from 'node:crypto';
import type { ServiceRight } from '@latchkey/contract/scopes';
import type { CallingService, Context, SentServiceKey } from '../platform/context.ts';
import { type Random, sha256 } from '../platform/crypto/primitives.ts';
import { AuthError, type ErrorDetail } from '../platform/errors.ts';
import { listOf } from './registration.ts';
import * as store from './store.ts';

/** A service key as shown and sent: `id:secret`. */
export interface ServiceCredentials {
  readonly id: string;
  readonly secret: string;
}

const secretBytes = 32;

/** The prefix of every secret, so that secret scanners can find leaked ones. */
const secretPrefix = 'lk_sk_';

export const idPattern = /^svc_[\w-]{22}$/;
const secretPattern = /^lk_sk_[\w-]{43}$/;

/** A new secret, and the hash to store. */
export function newSecret(random: Random): { readonly secret: string; readonly hash: string } {
  const secret = secretPrefix + random(secretBytes).toString('base64url');
  return { secret, hash: secretHash(secret).toString('base64url') };
}

/** One round of hashing suffices for a secret of 256 random bits. */
export const secretHash = (secret: string): Buffer => sha256('service key', secret);

const touchIntervalMs = 5 * 60 * 1000;

/** Compared with when there is no such key, so that the answer takes as long. */
const placeholderHash = Buffer.alloc(secretBytes);

const invalidClient = (detail: ErrorDetail): AuthError =>
  new AuthError('invalid_client', 'Authenticate with a service key: its id and secret by HTTP Basic.', {
    detail,
    headers: { 'WWW-Authenticate': 'Basic realm="latchkey", charset="UTF-8"' },
  });

/**
 * Authenticates a service by its key, with either secret while it has two. Never cached, so a revoked key is
 * refused as soon as that commits. @see RFC 6749 section 5.2
 * @throws {AuthError} `invalid_client`, without a query for a malformed key
 */
export async function authenticateService(
  ctx: Context,
  sent: SentServiceKey | undefined,
): Promise<CallingService> {
  if (!sent) throw invalidClient('no_credential');
  const { id, secret } = sent;
  if (!(idPattern.test(id) && secretPattern.test(secret))) throw invalidClient('malformed');
  const [key] = await store.findServiceKey(ctx.db.read, { id });
  const hash = secretHash(secret);
  // Compares with two hashes always, so that the time tells nothing.
  const isFirst = timingSafeEqual(hash, storedHash(key?.secret_hash));
  const isSecond = timingSafeEqual(hash, storedHash(key?.next_secret_hash));
  if (!key || !(isFirst || isSecond)) throw invalidClient('unknown');
  touch(ctx, id, key.last_used_at);
  return {
    id,
    name: key.name,
    rights: listOf(key.rights) as ServiceRight[],
    resource: key.resource,
    reach: listOf(key.reach),
  };
}

const storedHash = (hash: string | null | undefined): Buffer =>
  hash ? Buffer.from(hash, 'base64url') : placeholderHash;

/** @throws {AuthError} `unauthorized_client` unless the service has one of these rights */
export function requireRight(service: CallingService, rights: readonly ServiceRight[]): void {
  if (rights.some((right) => service.rights.includes(right))) return;
  throw new AuthError(
    'unauthorized_client',
    `This service does not have the right "${rights.join('" or "')}".`,
  );
}

/** @throws {AuthError} `unauthorized_client` unless the service may act for users */
export const requireDelegation = (service: CallingService): void => requireRight(service, ['delegate']);

/** Not awaited: losing one update of `last_used_at` does no harm. */
function touch(ctx: Context, id: string, lastUsedAt: number | null): void {
  const now = ctx.clock();
  if (lastUsedAt !== null && now - lastUsedAt < touchIntervalMs) return;
  store
    .touchServiceKey(ctx.db.single, { id, now, unless_since: now - touchIntervalMs + 1 })
    .catch(() => ctx.log.warn('the use of a service key could not be recorded'));
}
