// The least program that keeps the promises of `POST /refresh`: it verifies the MAC of the token, spends it with the service's
// own statement, on SQLite in one commit with all requests that have arrived, and answers once that is on disk. No
// repetition, theft, limits, scopes, metrics or other endpoints.

import { readHandle } from '../../packages/server/src/platform/crypto/handle.ts';
import { rotate } from '../../packages/server/src/sessions/store.ts';
import { sessionIdOf } from '../../packages/server/src/sessions/tokens.ts';
import { db, json, keys, serve, tokensOf } from './server.ts';

const idleTtlMs = 30 * 24 * 3600 * 1000;

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
  return { status: 200, body: tokensOf(handle.subject, rotated.generation) };
});
