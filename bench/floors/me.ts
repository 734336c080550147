// The least program that keeps the promises of `GET /me`: it verifies the MAC of the token, reads session and account from
// the same database, so that a revocation holds at once, and writes the same response and log line. On PostgreSQL the look-ups
// of one turn are a single statement, as in the service. No scopes, metrics, cookies, limits or other endpoints.

import { readHandle } from '../../packages/server/src/platform/crypto/handle.ts';
import { lookup } from '../../packages/server/src/platform/database/gather.ts';
import { sessionIdOf } from '../../packages/server/src/sessions/tokens.ts';
import { db, keys, serve } from './server.ts';

const { read } = db;
const refused = { description: process.env['REFUSAL'] ?? '', challenge: process.env['CHALLENGE'] ?? '' };

const findProfile = lookup((db, p) =>
  db
    .selectFrom('sessions as s')
    .innerJoin('users as u', 'u.id', 's.user_id')
    .select(['s.expires_at', 'u.id', 'u.email', 'u.email_verified', 'u.name', 'u.avatar_url', 'u.locale'])
    .select(['u.time_zone', 'u.revision', 'u.created_at', 'u.updated_at'])
    .where('s.id', '=', p.id)
    .where('s.revoked_at', 'is', null)
    .whereRef('s.session_epoch', '=', 'u.session_epoch')
    .where('u.disabled_at', 'is', null),
);

async function profileOf(authorization: string | null) {
  const handle = readHandle(keys, 'accessToken', authorization?.slice('Bearer '.length) ?? '');
  if (!handle || handle.value <= Date.now()) return undefined;
  const [row] = await findProfile(read, { id: sessionIdOf(handle.subject) });
  if (!row || row.expires_at <= Date.now()) return undefined;
  const { expires_at: _, revision, created_at, updated_at, email_verified, ...shown } = row;
  const profile = {
    ...shown,
    email_verified: email_verified === 1,
    created_at: new Date(created_at).toISOString(),
    updated_at: new Date(updated_at).toISOString(),
  };
  return { profile, etag: `"${row.id}.${revision}"` };
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
