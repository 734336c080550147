// The HTTP side of every floor: the headers of the service's responses and the fields of its log lines, written together at
// most 16 KiB at a time.

import { writeSync } from 'node:fs';
import { mintHandle } from '../../packages/server/src/platform/crypto/handle.ts';
import { parseKeyRing } from '../../packages/server/src/platform/crypto/primitives.ts';
import { openDatabase } from './database.ts';

export const keys = parseKeyRing(process.env['LATCHKEY_KEYS'] ?? '');
export const db = openDatabase(process.env['DATABASE_URL'] ?? '');

const maxBatch = 16 * 1024;
let lines = '';

function flush(): void {
  if (lines !== '') writeSync(1, lines);
  lines = '';
}

function logLine(
  requestId: string,
  method: string,
  status: number,
  outcome: string,
  startedAt: number,
): void {
  if (lines === '') setTimeout(flush, 10);
  const time = new Date().toISOString();
  const duration_ms = Math.round((performance.now() - startedAt) * 1000) / 1000;
  lines += `${JSON.stringify({ level: 30, time, request_id: requestId, method, route: '/', status, outcome, duration_ms, msg: 'request' })}\n`;
  if (lines.length > maxBatch) flush();
}

/** The headers of every response, copied for each: that costs half as much as making them from an object. */
const commonHeaders = new Headers({
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Strict-Transport-Security': 'max-age=63072000',
  Vary: 'Origin',
  'Content-Type': 'application/json',
});

export interface FloorAnswer {
  readonly status: number;
  /** An object is sent as JSON. */
  readonly body: object | string;
  /** For the log: `ok` or the code of an error. */
  readonly outcome?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Answers every request, whatever its path. */
export function serve(
  answer: (request: Request, requestId: string) => FloorAnswer | Promise<FloorAnswer>,
): void {
  Bun.serve({
    hostname: '127.0.0.1',
    port: Number(process.env['PORT']),
    development: false,
    fetch: async (request) => {
      const startedAt = performance.now();
      const requestId = request.headers.get('X-Request-Id') ?? crypto.randomUUID();
      const { status, body, outcome = 'ok', headers } = await answer(request, requestId);
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const response = new Response(text, { status, headers: commonHeaders });
      response.headers.set('X-Request-Id', requestId);
      for (const name in headers) response.headers.set(name, headers[name]!);
      logLine(requestId, request.method, status, outcome, startedAt);
      return response;
    },
  });
}

export const json = async (request: Request): Promise<Readonly<Record<string, string>>> =>
  (await request.json()) as Record<string, string>;

const accessTokenSeconds = 4 * 3600;

/** The tokens of a session, by its secret. */
export const tokensOf = (subject: Buffer, generation: number) => ({
  access_token: mintHandle(keys, 'accessToken', { subject, value: Date.now() + accessTokenSeconds * 1000 }),
  token_type: 'Bearer',
  expires_in: accessTokenSeconds,
  refresh_token: mintHandle(keys, 'refreshToken', { subject, value: generation }),
});
