// The least program that keeps the promises of `GET /me`: it verifies the MAC of the token, reads session and account from
// the same database, so that a revocation holds at once, and writes the same response and log line. No scopes, metrics,
// cookies, limits or other endpoints.

import { readHandle } from '../../packages/server/src/platform/crypto/handle.ts';
import { parseKeyRing } from '../../packages/server/src/platform/crypto/key-ring.ts';
import type { Value } from '../../packages/server/src/platform/database/executor.ts';
import { sessionIdOf } from '../../packages/server/src/sessions/tokens.ts';
import { openDatabase } from './database.ts';
import { serve } from './server.ts';

const keys = parseKeyRing(process.env['LATCHKEY_KEYS'] ?? '');
const { read } = openDatabase(process.env['DATABASE_URL'] ?? '');
// On SQLite an expression: a join with a bare parameter would be prepared anew for each value.
const placeholder = read.dialect === 'sqlite' ? '+?' : '$1';
const refused = { description: process.env['REFUSAL'] ?? '', challenge: process.env['CHALLENGE'] ?? '' };

const text = `SELECT s.expires_at, u.id, u.email, u.email_verified, u.name, u.avatar_url, u.locale, u.time_zone, u.revision,
     u.created_at, u.updated_at
   FROM sessions s JOIN users u ON u.id = s.user_id
   WHERE s.id = ${placeholder} AND s.revoked_at IS NULL AND s.session_epoch = u.session_epoch AND u.disabled_at IS NULL`;

async function profileOf(authorization: string | null) {
  const handle = readHandle(keys, 'accessToken', authorization?.slice('Bearer '.length) ?? '');
  if (!handle || handle.value <= Date.now()) return undefined;
  const [row] = await read.run<Record<string, Value>>(text, [sessionIdOf(handle.subject)]);
  if (!row || Number(row['expires_at']) <= Date.now()) return undefined;
  const { expires_at: _, revision, created_at, updated_at, email_verified, ...shown } = row;
  const profile = {
    ...shown,
    email_verified: email_verified === 1,
    created_at: new Date(created_at as number).toISOString(),
    updated_at: new Date(updated_at as number).toISOString(),
  };
  return { profile, etag: `"${row['id']}.${revision}"` };
}

serve(async ({ headers }, request_id) => {
  const found = await profileOf(headers.get('Authorization'));
  if (found) return { status: 200, body: found.profile, headers: { ETag: found.etag } };
  return {
    status: 401,
    body: { error: 'invalid_token', error_description: refused.description, request_id },
    outcome: 'invalid_token',
    headers: { 'WWW-Authenticate': refused.challenge },
  };
});
