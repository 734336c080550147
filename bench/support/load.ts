// Generates load with wrk on the load core, and verifies that all responses were the expected ones.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawn } from 'bun';
import { temporaryDirectory } from '../../tests/support/service.ts';
import { loadCore, onCore } from './cores.ts';
import { bytesWritten, cpuSeconds } from './processes.ts';
import type { Sample } from './rounds.ts';
import type { RecordedAnswer, RunningServer } from './service.ts';

export const connections = 32;

/** A request that takes longer counts as failed. */
const responseTimeoutSeconds = 10;

/** How far the average size of responses may differ from the expected one, in bytes: wrk cuts off the last responses. */
const maxSizeDifference = 2;

export const mePath = '/api/v1/auth/me';
export const refreshPath = '/api/v1/auth/refresh';

export interface Load {
  readonly server: RunningServer;
  readonly path: string;
  /** Used in turn. With `refreshes` each is exchanged for its successor, which goes to the end of the queue. */
  readonly tokens: readonly string[];
  readonly refreshes?: boolean;
  readonly seconds: number;
  /** Every response must have this status and size. */
  readonly expected: { readonly status: number; readonly bytes: number };
}

/** The result of wrk. `refused` counts responses with status 400 or above, `failed` requests without a response. */
interface WrkResult {
  readonly requests: number;
  readonly seconds: number;
  readonly bytes: number;
  readonly refused: number;
  readonly failed: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/**
 * Sends requests over all connections for some seconds.
 * @throws {Error} when a request failed, or responses had an unexpected status or size
 */
export async function putUnderLoad(load: Load): Promise<Sample> {
  const tokenFile = join(temporaryDirectory(), 'tokens');
  writeFileSync(tokenFile, load.tokens.join('\n'));
  const command = [
    ...['wrk', '--threads', '1', '--connections', `${connections}`, '--duration', `${load.seconds}s`],
    ...['--timeout', `${responseTimeoutSeconds}s`],
    ...['--script', join(import.meta.dir, 'load.lua'), load.server.url + load.path, '--', tokenFile],
    ...(load.refreshes ? ['refresh'] : []),
  ];
  const { pid } = load.server;
  const before = { cpu: cpuSeconds(pid), written: bytesWritten(pid) };
  const child = spawn(onCore(loadCore, command), { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  const [out, error] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  const used = { cpuSeconds: cpuSeconds(pid) - before.cpu, bytesWritten: bytesWritten(pid) - before.written };
  const line = out.split('\n').find((text) => text.startsWith('{'));
  if (!line) throw new Error(`wrk: ${error}${out}`);
  const result: WrkResult = JSON.parse(line);
  requireExpected(load, result);
  return { ...result, ...used, count: result.requests };
}

/**
 * Refuses a load whose responses were not the expected ones, because errors are faster.
 * @throws {Error} with the expected and the actual result
 */
export function requireExpected(
  { path, expected }: Pick<Load, 'path' | 'expected'>,
  result: WrkResult,
): void {
  const refusals = expected.status >= 400 ? result.requests : 0;
  const bytesEach = result.bytes / result.requests;
  const asExpected =
    result.failed === 0 &&
    result.refused === refusals &&
    (result.requests === 0 || Math.abs(bytesEach - expected.bytes) <= maxSizeDifference);
  if (asExpected) return;
  const { status, bytes } = expected;
  throw new Error(
    `${path} did not respond with ${status} and ${bytes} bytes: ${JSON.stringify({ ...result, bytesEach })}`,
  );
}

/** Headers that depend on the connection or the time. Every server sends its own. */
const ownHeaders = new Set(['date', 'content-length', 'connection', 'keep-alive', 'transfer-encoding']);

/** Records one response of a server, with its size on the wire. */
export async function recordAnswer(
  url: string,
  request: RequestInit,
): Promise<RecordedAnswer & { readonly bytes: number }> {
  const response = await fetch(url, { ...request, headers: { ...request.headers, 'Accept-Encoding': '' } });
  const body = await response.text();
  const headers = [...response.headers];
  const head = headers.reduce((sum, [name, value]) => sum + `${name}: ${value}\r\n`.length, 0);
  const statusLine = `HTTP/1.1 ${response.status} ${response.statusText}\r\n\r\n`;
  return {
    status: response.status,
    headers: Object.fromEntries(headers.filter(([name]) => !ownHeaders.has(name))),
    body,
    bytes: statusLine.length + head + Buffer.byteLength(body),
  };
}
