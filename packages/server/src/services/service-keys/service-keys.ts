import { timingSafeEqual } from 'node:crypto';
import { fieldLimits } from '@latchkey/contract/field-limits';
import { visibleText } from '@latchkey/contract/fields';
import type { ServiceRight } from '@latchkey/contract/services';
import type { CallingService, Context } from '../../platform/context.ts';
import { sha256 } from '../../platform/crypto/hash.ts';
import { newId } from '../../platform/crypto/random.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { AuthError, type ErrorDetail } from '../../platform/errors.ts';
import { readBasic, type ServiceCredentials, secretPrefix } from './credentials.ts';
import * as store from './store.ts';

const secretBytes = 32;

/** The minimum time between two updates of a key's `last_used_at`. */
const touchIntervalMs = 5 * 60 * 1000;

/** One round of hashing suffices for a secret of 256 random bits. */
const secretHash = (secret: string): Buffer => sha256('service key', secret);

/** Compared with when there is no such key, so that the answer takes as long. */
const placeholderHash = Buffer.alloc(secretBytes);

/**
 * Creates a key for a service. The result is the only time its secret is shown.
 * @throws {AuthError} `invalid_request` for a name that is empty, too long or not visible text
 */
export async function createServiceKey(ctx: Context, name: string): Promise<ServiceCredentials> {
  if (!visibleText(fieldLimits.clientText).safeParse(name).success) {
    throw new AuthError(
      'invalid_request',
      `The name must be 1-${fieldLimits.clientText} printable characters.`,
    );
  }
  const id = newId('svc_', ctx.random);
  const secret = secretPrefix + ctx.random(secretBytes).toString('base64url');
  await store.insertServiceKey(ctx.db.single, {
    id,
    name,
    secret_hash: secretHash(secret).toString('base64url'),
    now: ctx.clock(),
  });
  return { id, secret };
}

/** All keys without their secrets, revoked ones included, oldest first. Times are milliseconds since 1970. */
export const listServiceKeys = (ctx: Context) => store.listServiceKeys(ctx.db.read, {});

/** Ends and records the active runs that a service acts in. Composed above this layer, because sessions are. */
export type EndRunsOfService = (ctx: Context, tx: Executor, serviceId: string) => Promise<void>;

/**
 * Revokes a key at once, on every node, and ends the runs that the service acts in.
 * @throws {AuthError} `not_found` when there is no such key, or it is already revoked
 */
export async function revokeServiceKey(ctx: Context, id: string, endRuns: EndRunsOfService): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    // First, because it locks accounts.
    await endRuns(ctx, tx, id);
    const [revoked] = await store.revokeServiceKey(tx, { id, now: ctx.clock() });
    if (!revoked) throw new AuthError('not_found', `There is no active service key ${id}.`);
  });
  // No lookup accepts a run that was being made meanwhile. This only records its end.
  await ctx.db.transaction((tx) => endRuns(ctx, tx, id));
}

const invalidClient = (detail: ErrorDetail): AuthError =>
  new AuthError('invalid_client', 'Authenticate with a service key: its id and secret by HTTP Basic.', {
    detail,
    headers: { 'WWW-Authenticate': 'Basic realm="latchkey", charset="UTF-8"' },
  });

/**
 * Authenticates a service by its key. A malformed key is refused without a query. The result is never cached, so a
 * revoked key is refused as soon as its revocation commits.
 * @throws {AuthError} `invalid_client`
 * @see RFC 6749 section 5.2
 */
export async function authenticateService(
  ctx: Context,
  authorization: string | null,
): Promise<CallingService> {
  const credentials = readBasic(authorization);
  if (!credentials) throw invalidClient(authorization === null ? 'no_credential' : 'malformed');
  const { id, secret } = credentials;
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

const listOf = (text: string): string[] => (text === '' ? [] : text.split(' '));

/** @throws {AuthError} `unauthorized_client` unless the service has one of these rights */
export function requireRight(service: CallingService, rights: readonly ServiceRight[]): void {
  if (rights.some((right) => service.rights.includes(right))) return;
  throw new AuthError('unauthorized_client', `This service does not have the right ${rights.join(' or ')}.`);
}

/** The scopes among these names that an active service declares, each with its sentence and the name of the service. */
export const findScopes = (on: Executor, names: readonly string[]) =>
  store.findScopes(on, { names: JSON.stringify(names) });

/** The active service that declares this resource. */
export const findResource = async (
  on: Executor,
  resource: string,
): Promise<{ readonly id: string; readonly name: string } | undefined> =>
  (await store.findResource(on, { resource }))[0];

/** How many scopes and resources are listed at most. */
const maxDeclarations = 1_000;

/** The scopes and resources that active services declare, each with the name of its service. */
export const listDeclarations = (on: Executor) => store.listDeclarations(on, { limit: maxDeclarations });

/** Not awaited: losing one update of `last_used_at` does no harm. */
function touch(ctx: Context, id: string, lastUsedAt: number | null): void {
  const now = ctx.clock();
  if (lastUsedAt !== null && now - lastUsedAt < touchIntervalMs) return;
  store
    .touchServiceKey(ctx.db.single, { id, now, unless_since: now - touchIntervalMs + 1 })
    .catch(() => ctx.log.warn('the use of a service key could not be recorded'));
}
