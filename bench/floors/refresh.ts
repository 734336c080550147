// The least program that keeps the promises of `POST /refresh`: it verifies the MAC of the token, spends it with the service's
// own statement, on SQLite in one commit with all requests that have arrived, and answers once that is on disk. No
// repetition, theft, limits, scopes, metrics or other endpoints.

import { mintHandle, readHandle } from '../../packages/server/src/platform/crypto/handle.ts';
import { parseKeyRing } from '../../packages/server/src/platform/crypto/key-ring.ts';
import { rotate } from '../../packages/server/src/sessions/store.ts';
import { sessionIdOf } from '../../packages/server/src/sessions/tokens.ts';
import { openDatabase } from './database.ts';
import { json, serve } from './server.ts';

const accessTokenSeconds = 4 * 3600;
const idleTtlMs = 30 * 24 * 3600 * 1000;

const keys = parseKeyRing(process.env['LATCHKEY_KEYS'] ?? '');
const db = openDatabase(process.env['DATABASE_URL'] ?? '');

serve(async (request) => {
  const { refresh_token = '' } = await json(request);
  const handle = readHandle(keys, 'refreshToken', refresh_token);
  const now = Date.now();
  const [rotated] = handle
    ? await rotate(db.single, {
        id: sessionIdOf(handle.subject),
        generation: handle.value,
        idempotency_hash: null,
        network: '127.0.0.0/24',
        program: 'a program',
        now,
        idle_expires_at: now + idleTtlMs,
        run_idle_expires_at: now + idleTtlMs,
        service_id: null,
        client_id: null,
      })
    : [];
  if (!handle || !rotated) return { status: 400, body: {}, outcome: 'invalid_grant' };
  const { subject } = handle;
  return {
    status: 200,
    body: {
      access_token: mintHandle(keys, 'accessToken', { subject, value: now + accessTokenSeconds * 1000 }),
      token_type: 'Bearer',
      expires_in: accessTokenSeconds,
      refresh_token: mintHandle(keys, 'refreshToken', { subject, value: rotated.generation }),
    },
  };
});
