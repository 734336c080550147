// The least program that keeps the promises of `GET /me`: it verifies the MAC of the token, reads session and account from
// the same database, so that a revocation holds at once, and writes the same response and log line. No scopes, metrics,
// cookies, limits or other endpoints.

import { Database } from 'bun:sqlite';
import { readHandle } from '../../packages/server/src/platform/crypto/handle.ts';
import { sha256 } from '../../packages/server/src/platform/crypto/hash.ts';
import { parseKeyRing } from '../../packages/server/src/platform/crypto/key-ring.ts';
import { commonHeaders, logLine } from './log.ts';

const keys = parseKeyRing(process.env['LATCHKEY_KEYS'] ?? '');
const db = new Database((process.env['DATABASE_URL'] ?? '').slice('sqlite:'.length), { strict: true });
const refused = { description: process.env['REFUSAL'] ?? '', challenge: process.env['CHALLENGE'] ?? '' };

const findSession = db.query<Record<string, number | string | null>, [string]>(
  `SELECT user_id, expires_at, revoked_at, session_epoch,
     (SELECT session_epoch FROM users WHERE id = user_id AND disabled_at IS NULL) AS user_epoch
   FROM sessions WHERE id = ?`,
);
const findUser = db.query<Record<string, number | string | null>, [string]>(
  `SELECT id, email, email_verified, name, avatar_url, locale, time_zone, revision, created_at, updated_at
   FROM users WHERE id = ?`,
);

function profileOf(authorization: string | null) {
  const handle = readHandle(keys, 'accessToken', authorization?.slice('Bearer '.length) ?? '');
  if (!handle || handle.value <= Date.now()) return undefined;
  const id = `ses_${sha256('session id', handle.subject).subarray(0, 16).toString('base64url')}`;
  const session = findSession.get(id);
  const isActive =
    session !== null &&
    session['revoked_at'] === null &&
    session['session_epoch'] === session['user_epoch'] &&
    Number(session['expires_at']) > Date.now();
  const row = isActive ? findUser.get(String(session['user_id'])) : null;
  if (!row) return undefined;
  const { revision, created_at, updated_at, email_verified, ...shown } = row;
  const profile = {
    ...shown,
    email_verified: email_verified === 1,
    created_at: new Date(created_at as number).toISOString(),
    updated_at: new Date(updated_at as number).toISOString(),
  };
  return { profile, etag: `"${row['id']}.${revision}"` };
}

Bun.serve({
  hostname: '127.0.0.1',
  port: Number(process.env['PORT']),
  development: false,
  fetch: ({ headers }) => {
    const startedAt = performance.now();
    const requestId = headers.get('X-Request-Id') ?? crypto.randomUUID();
    const found = profileOf(headers.get('Authorization'));
    const body = found?.profile ?? {
      error: 'invalid_token',
      error_description: refused.description,
      request_id: requestId,
    };
    const status = found ? 200 : 401;
    const response = new Response(JSON.stringify(body), { status, headers: commonHeaders });
    response.headers.set('X-Request-Id', requestId);
    if (found) response.headers.set('ETag', found.etag);
    else response.headers.set('WWW-Authenticate', refused.challenge);
    logLine(requestId, 'GET', status, found ? 'ok' : 'invalid_token', startedAt);
    return response;
  },
});
