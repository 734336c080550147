// The least program that keeps the promises of `POST /refresh` on SQLite: it verifies the MAC of the token, spends it with the
// service's own statement in one commit with all requests that have arrived, and answers once that is on disk. No
// repetition, theft, limits, scopes, metrics or other endpoints.

import { Database } from 'bun:sqlite';
import { type Handle, mintHandle, readHandle } from '../../packages/server/src/platform/crypto/handle.ts';
import { sha256 } from '../../packages/server/src/platform/crypto/hash.ts';
import { parseKeyRing } from '../../packages/server/src/platform/crypto/key-ring.ts';
import { type RotateParameter, rotateStatement } from '../support/rotate-statement.ts';
import { commonHeaders, logLine } from './log.ts';

const accessTokenSeconds = 3600;
const idleTtlMs = 30 * 24 * 3600 * 1000;

const keys = parseKeyRing(process.env['LATCHKEY_KEYS'] ?? '');
const db = new Database((process.env['DATABASE_URL'] ?? '').slice('sqlite:'.length), { strict: true });
for (const pragma of ['journal_mode = WAL', 'synchronous = FULL', 'foreign_keys = ON'])
  db.run(`PRAGMA ${pragma}`);
const { text, placeholders } = await rotateStatement('sqlite');
const spend = db.query<{ generation: number }, (string | number | null)[]>(text);

function rotate({ subject, value }: Handle): number | undefined {
  const now = Date.now();
  const values: Record<RotateParameter, string | number | null> = {
    id: `ses_${sha256('session id', subject).subarray(0, 16).toString('base64url')}`,
    generation: value,
    idempotency_hash: null,
    now,
    idle_expires_at: now + idleTtlMs,
  };
  const bound = placeholders.map((name) => (typeof name === 'number' ? name : (values[name] ?? null)));
  return spend.get(...bound)?.generation;
}

let waiting: { handle: Handle; resolve: (generation: number | undefined) => void }[] = [];

/** Spends what has arrived by the end of this turn of the event loop in one commit. */
function commit(): void {
  const batch = waiting;
  waiting = [];
  db.run('BEGIN IMMEDIATE');
  const generations = batch.map(({ handle }) => rotate(handle));
  db.run('COMMIT');
  for (const [index, { resolve }] of batch.entries()) resolve(generations[index]);
}

const spent = (handle: Handle): Promise<number | undefined> =>
  new Promise((resolve) => {
    if (waiting.length === 0) setImmediate(commit);
    waiting.push({ handle, resolve });
  });

Bun.serve({
  hostname: '127.0.0.1',
  port: Number(process.env['PORT']),
  development: false,
  fetch: async (request) => {
    const startedAt = performance.now();
    const requestId = request.headers.get('X-Request-Id') ?? crypto.randomUUID();
    const { refresh_token } = (await request.json().catch(() => ({}))) as { refresh_token?: unknown };
    const handle = readHandle(keys, 'refreshToken', String(refresh_token));
    const generation = handle && (await spent(handle));
    const status = handle && generation ? 200 : 400;
    const body = handle &&
      generation && {
        access_token: mintHandle(keys, 'accessToken', {
          subject: handle.subject,
          value: Date.now() + accessTokenSeconds * 1000,
        }),
        token_type: 'Bearer',
        expires_in: accessTokenSeconds,
        refresh_token: mintHandle(keys, 'refreshToken', { subject: handle.subject, value: generation }),
      };
    const response = new Response(JSON.stringify(body ?? {}), { status, headers: commonHeaders });
    response.headers.set('X-Request-Id', requestId);
    logLine(requestId, 'POST', status, status === 200 ? 'ok' : 'invalid_grant', startedAt);
    return response;
  },
});
