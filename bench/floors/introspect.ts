// The least program that keeps the promises of `POST /introspect`: it authenticates the service by the hash of its secret, verifies
// the MAC of the token, reads session and account from the same database, and answers as JSON or as a JWT signed with the same
// library. No runs, narrow scopes, resources, limits, metrics or other endpoints.

import { timingSafeEqual } from 'node:crypto';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { findUserWithOrganizations } from '../../packages/server/src/identity/organizations/store.ts';
import { readHandle } from '../../packages/server/src/platform/crypto/handle.ts';
import { readServiceKey } from '../../packages/server/src/platform/http/credential.ts';
import { secretHash } from '../../packages/server/src/services/authentication.ts';
import { findServiceKey } from '../../packages/server/src/services/store.ts';
import { findSession } from '../../packages/server/src/sessions/store.ts';
import { sessionIdOf } from '../../packages/server/src/sessions/tokens.ts';
import { db, type FloorAnswer, json, keys, serve } from './server.ts';

const jwtType = 'application/token-introspection+jwt';
const accessTokenSeconds = 4 * 3600;

const { read } = db;
const iss = process.env['LATCHKEY_BASE_URL'] ?? '';
const { publicKey, privateKey } = await generateKeyPair('ES256');
const kid = await calculateJwkThumbprint(await exportJWK(publicKey));

const inSeconds = (ms: number): number => Math.floor(ms / 1000);

async function authenticatedId(headers: Headers): Promise<string | undefined> {
  const { id = '', secret = '' } = readServiceKey(headers) ?? {};
  const [key] = await findServiceKey(read, { id });
  const isRight = key && timingSafeEqual(secretHash(secret), Buffer.from(key.secret_hash, 'base64url'));
  return isRight ? id : undefined;
}

async function describe(token: string): Promise<object> {
  const handle = readHandle(keys, 'accessToken', token);
  if (!handle || handle.value <= Date.now()) return { active: false };
  const [session] = await findSession(read, { id: sessionIdOf(handle.subject) });
  const isActive = session && session.revoked_at === null && session.session_epoch === session.user_epoch;
  if (!isActive || session.expires_at <= Date.now()) return { active: false };
  const [user] = await findUserWithOrganizations(read, { id: session.user_id });
  const organizations = JSON.parse(user?.organizations ?? '[]') as string[][];
  const issuedAt = handle.value - accessTokenSeconds * 1000;
  return {
    active: true,
    token_use: 'access_token',
    token_type: 'Bearer',
    iss,
    sub: session.user_id,
    sid: session.id,
    exp: inSeconds(Math.min(handle.value, session.expires_at)),
    iat: inSeconds(Math.min(Math.max(issuedAt, session.created_at), session.rotated_at)),
    session_kind: session.kind,
    scope: session.scope ?? '*',
    name: user?.name,
    organizations: organizations.map(([id, slug, role]) => ({ id, slug, role })),
  };
}

serve(async (request): Promise<FloorAnswer> => {
  const aud = await authenticatedId(request.headers);
  if (aud === undefined) return { status: 401, body: {}, outcome: 'invalid_client' };
  const { token = '' } = await json(request);
  const body = await describe(token);
  if (request.headers.get('Accept') !== jwtType) return { status: 200, body };
  const claims = { iss, aud, iat: inSeconds(Date.now()), token_introspection: body };
  const header = { alg: 'ES256', kid, typ: jwtType.replace('application/', '') };
  const jwt = await new SignJWT(claims).setProtectedHeader(header).sign(privateKey);
  return { status: 200, body: jwt, headers: { 'Content-Type': jwtType } };
});
