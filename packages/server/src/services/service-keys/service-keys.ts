import { timingSafeEqual } from 'node:crypto';
import { fieldLimits } from '@latchkey/contract/field-limits';
import { visibleText } from '@latchkey/contract/fields';
import { type Introspection, introspectionJwtType } from '@latchkey/contract/services';
import type { CallingService, Context } from '../../platform/context.ts';
import { sha256 } from '../../platform/crypto/hash.ts';
import { newId } from '../../platform/crypto/random.ts';
import { AuthError, type ErrorDetail } from '../../platform/errors.ts';
import { type ActiveToken, findActiveToken } from '../../sessions/sessions.ts';
import type { SigningKeys } from '../signing-keys/signing-keys.ts';
import { readBasic, type ServiceCredentials, secretPrefix } from './credentials.ts';
import * as store from './store.ts';

const secretBytes = 32;

/** How often the use of a key is written down at most. */
const touchIntervalMs = 5 * 60 * 1000;

/** The secret is 256 random bits, so one round of hashing is all that it needs. */
const secretHash = (secret: string): Buffer => sha256('service key', secret);

/** Compared with where there is no such key, so that the answer takes as long. */
const placeholderHash = Buffer.alloc(secretBytes);

/**
 * Makes a key for a sibling service, for the operator. The secret is shown here and never again.
 * @throws {AuthError} `invalid_request` for a name that cannot be shown
 */
export async function createServiceKey(ctx: Context, name: string): Promise<ServiceCredentials> {
  if (!visibleText(fieldLimits.requesterText).safeParse(name).success) {
    throw new AuthError(
      'invalid_request',
      `The name must be 1-${fieldLimits.requesterText} visible characters.`,
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

/**
 * Ends a key at once, on every node.
 * @throws {AuthError} `not_found` when there is no such key, or it was ended before
 */
export async function revokeServiceKey(ctx: Context, id: string): Promise<void> {
  const [ended] = await store.revokeServiceKey(ctx.db.single, { id, now: ctx.clock() });
  if (!ended) throw new AuthError('not_found', `There is no live service key ${id}.`);
}

const clientRefused = (detail: ErrorDetail): AuthError =>
  new AuthError('invalid_client', 'A service key is needed: id and secret, by HTTP Basic.', {
    detail,
    headers: { 'WWW-Authenticate': 'Basic realm="latchkey", charset="UTF-8"' },
  });

/**
 * The service that presents its key. What cannot be a key is refused without a statement; a revoked key is
 * refused from the moment its end is committed, so nothing of this is remembered between requests.
 * @throws {AuthError} `invalid_client`
 * @see RFC 6749 section 5.2
 */
export async function authenticateService(
  ctx: Context,
  authorization: string | null,
): Promise<CallingService> {
  const credentials = readBasic(authorization);
  if (!credentials) throw clientRefused(authorization === null ? 'no_credential' : 'malformed');
  const { id, secret } = credentials;
  const [key] = await store.findServiceKey(ctx.db.read, { id });
  const stored = key ? Buffer.from(key.secret_hash, 'base64url') : placeholderHash;
  const same = timingSafeEqual(secretHash(secret), stored);
  if (!key || !same) throw clientRefused('unknown');
  touch(ctx, id, key.last_used_at);
  return { id };
}

/** Not awaited: losing the note of one use harms nobody. */
function touch(ctx: Context, id: string, lastUsedAt: number | null): void {
  const now = ctx.clock();
  if (lastUsedAt !== null && now - lastUsedAt < touchIntervalMs) return;
  store
    .touchServiceKey(ctx.db.single, { id, now, unless_since: now - touchIntervalMs + 1 })
    .catch(() => ctx.log.warn('the use of a service key could not be noted'));
}

/**
 * What a service may know of a token; nothing but `active: false` of what is no live token, whatever it is. The
 * hint of its kind is not needed: a token says itself what it is.
 * @see RFC 7662 section 2.2
 */
export async function introspect(ctx: Context, token: string): Promise<Introspection> {
  const found = await findActiveToken(ctx, token);
  return found ? describeToken(ctx, found) : { active: false };
}

const inSeconds = (ms: number): number => Math.floor(ms / 1000);

function describeToken(ctx: Context, token: ActiveToken): Introspection {
  return {
    active: true,
    token_use: token.use,
    ...(token.use === 'access_token' ? { token_type: 'Bearer' } : {}),
    iss: ctx.config.baseUrl,
    sub: token.userId,
    sid: token.sessionId,
    exp: inSeconds(token.endsAt),
    iat: inSeconds(token.issuedAt),
    session_kind: token.kind,
    ...loginFacts(token),
  };
}

/** What a device code proves is a login somewhere else, some time ago: of that nothing is said. @see RFC 8176 */
function loginFacts({ method, startedAt }: ActiveToken) {
  const auth_time = inSeconds(startedAt);
  switch (method) {
    case 'passkey':
      return { auth_time, amr: ['pop', 'user', 'mfa'], acr: 'phr' as const };
    case 'magic_link':
    case 'email_code':
      return { auth_time, amr: ['otp'] };
    case 'device_code':
      return {};
  }
}

/**
 * An answer to an introspection that proves itself to whoever the service shows it to.
 * @see RFC 9701 section 5
 */
export const signIntrospection = (
  ctx: Context,
  keys: SigningKeys,
  service: CallingService,
  answer: Introspection,
): Promise<string> =>
  keys.sign(introspectionJwtType.replace('application/', ''), {
    iss: ctx.config.baseUrl,
    aud: service.id,
    iat: inSeconds(ctx.clock()),
    token_introspection: answer,
  });
