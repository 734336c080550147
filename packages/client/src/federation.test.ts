// A job whose CI system does not answer as it should. What a job gets is in tests/cli/transcripts/federated-token.txt.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { spawnSync } from 'bun';
import { codeOf } from '#support/client.ts';
import { temporaryDirectory } from '#support/service.ts';
import { createApi } from './api.ts';
import { federatedToken } from './federation.ts';
import type { Fetch } from './transport.ts';

const job: Readonly<Record<string, string>> = {
  ACTIONS_ID_TOKEN_REQUEST_URL: 'https://github.example/token',
  ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'secret',
};
const clearEnvironment = () => {
  for (const name of ['LATCHKEY_ID_TOKEN_FILE', 'LATCHKEY_ID_TOKEN', ...Object.keys(job)])
    delete process.env[name];
};
beforeAll(() => {
  clearEnvironment();
  Object.assign(process.env, job);
});
afterAll(clearEnvironment);

const requestWith = (fetch: Fetch, signal?: AbortSignal) =>
  federatedToken({ api: createApi({ server: 'https://login.example', fetch }), keyId: 'key_a', signal });

test('an answer of GitHub without a token is a refusal, unless it may pass, and follows no redirect', async () => {
  for (const [code, answer] of [
    ['unreachable', new Response(null, { status: 500 })],
    ['unreachable', new Response(null, { status: 429 })],
    ['invalid_grant', new Response(null, { status: 403 })],
    ['unreachable', new Response(null, { status: 408 })],
    ['unreachable', new Response(null, { status: 403, headers: { 'Retry-After': '60' } })],
    ['unreachable', new Response('<html>')],
    ['invalid_grant', Response.json({})],
    ['invalid_grant', Response.json({ value: 7 })],
  ] as const) {
    const asked: unknown[] = [];
    const github: Fetch = async (url, { redirect }) => {
      asked.push(url, redirect);
      return answer;
    };
    expect(await codeOf(requestWith(github))).toBe(code);
    expect(asked).toEqual(['https://github.example/token?audience=https%3A%2F%2Flogin.example', 'error']);
  }
});

test('an abort ends the wait for a pipe that nothing writes to', async () => {
  const pipe = join(temporaryDirectory(), 'pipe');
  spawnSync(['mkfifo', pipe]);
  process.env['LATCHKEY_ID_TOKEN_FILE'] = pipe;
  const stop = new AbortController();
  const token = requestWith(fetch, stop.signal);
  delete process.env['LATCHKEY_ID_TOKEN_FILE'];
  stop.abort();
  expect(await codeOf(token)).toBe('aborted');
});

test('an abort ends the request to GitHub', async () => {
  const stop = new AbortController();
  const github: Fetch = (_, { signal }) => {
    queueMicrotask(() => stop.abort());
    return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted'))));
  };
  expect(await codeOf(requestWith(github, stop.signal))).toBe('aborted');
});
