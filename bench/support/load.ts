// Generates load with wrk on the load core, and verifies that all responses were the expected ones.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawn } from 'bun';
import { temporaryDirectory } from '../../tests/support/service.ts';
import { loadCore, onCore } from './cores.ts';
import { bytesWritten, cpuSeconds, cpuSecondsOfFamily } from './processes.ts';
import type { Sample } from './rounds.ts';
import type { RecordedAnswer, RunningServer } from './service.ts';

/** The default number of connections of a load. */
export const connections = 32;

/** A request that takes longer counts as failed. */
const responseTimeoutSeconds = 10;

/** How far the average size of responses may differ from the expected one, in bytes: wrk cuts off the last responses. */
const maxSizeDifference = 2;

export const mePath = '/api/v1/auth/me';
export const refreshPath = '/api/v1/auth/refresh';

/** One request of a load. Bodies contain no tabs and no line breaks. */
export interface LoadRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Load {
  readonly server: Pick<RunningServer, 'url' | 'pid' | 'databasePid'>;
  readonly requests: Requests;
  /** How long to send requests; with `once`, the longest that all of them may take. */
  readonly seconds: number;
  readonly connections?: number;
  /** Every response must have this status and, if it is known, this size. */
  readonly expected: { readonly status: number; readonly bytes?: number };
}

/** What a load sends. */
export type Requests =
  | { readonly mode: 'turns' | 'once'; readonly list: readonly LoadRequest[] }
  /** Each token is exchanged with a request that has `{token}` in its body; its successor goes to the end of the queue. */
  | { readonly mode: 'refresh'; readonly template: LoadRequest; readonly tokens: readonly string[] };

/** Requests for a path with access tokens in turn. */
export const withTokens = (path: string, tokens: readonly string[]): Requests => ({
  mode: 'turns',
  list: tokens.map((token) => ({ method: 'GET', path, headers: { Authorization: `Bearer ${token}` } })),
});

/** Refreshes with these tokens and their successors. */
export const refreshesOf = (tokens: readonly string[]): Requests => ({
  mode: 'refresh',
  template: {
    method: 'POST',
    path: refreshPath,
    headers: { 'Content-Type': 'application/json' },
    body: '{"refresh_token":"{token}"}',
  },
  tokens,
});

/** A request as a line of the file that load.lua reads. */
const lineOf = ({ method, path, headers, body = '' }: LoadRequest): string =>
  [method, path, body, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)].join('\t');

const linesOf = (requests: Requests): string[] =>
  requests.mode === 'refresh' ? [lineOf(requests.template), ...requests.tokens] : requests.list.map(lineOf);

/** The result of wrk. `refused` counts responses with status 400 or above, `failed` requests without a response. */
interface WrkResult {
  readonly requests: number;
  readonly seconds: number;
  readonly bytes: number;
  readonly refused: number;
  readonly failed: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
}

/** CPU seconds so far of a service and, where it is measured, of its database. */
const cpuOf = ({ pid, databasePid }: Load['server']) => ({
  service: cpuSeconds(pid),
  database: databasePid === undefined ? 0 : cpuSecondsOfFamily(databasePid),
});

/**
 * Sends requests over all connections for some seconds.
 * @throws {Error} when a request failed, or responses had an unexpected status or size
 */
export async function putUnderLoad(load: Load): Promise<Sample> {
  const file = join(temporaryDirectory(), 'requests');
  writeFileSync(file, linesOf(load.requests).join('\n'));
  const command = [
    ...['wrk', '--threads', '1', '--connections', `${load.connections ?? connections}`],
    ...['--duration', `${load.seconds}s`, '--timeout', `${responseTimeoutSeconds}s`],
    ...['--script', join(import.meta.dir, 'load.lua'), load.server.url, '--', file, load.requests.mode],
  ];
  const { pid } = load.server;
  const before = { ...cpuOf(load.server), written: bytesWritten(pid) };
  const child = spawn(onCore(loadCore, command), { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  const [out, error] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  const after = { ...cpuOf(load.server), written: bytesWritten(pid) };
  const used = {
    cpuSeconds: after.service - before.service,
    databaseCpuSeconds: after.database - before.database,
    bytesWritten: after.written - before.written,
  };
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
  { requests, expected }: Pick<Load, 'requests' | 'expected'>,
  result: WrkResult,
): void {
  const refusals = expected.status >= 400 ? result.requests : 0;
  const bytesEach = result.bytes / result.requests;
  const asExpected =
    result.failed === 0 &&
    result.refused === refusals &&
    isComplete(requests, result) &&
    (result.requests === 0 || Math.abs(bytesEach - (expected.bytes ?? bytesEach)) <= maxSizeDifference);
  if (asExpected) return;
  const { status, bytes = 'any number of' } = expected;
  const { path } = requests.mode === 'refresh' ? requests.template : requests.list[0]!;
  throw new Error(
    `${path} did not respond with ${status} and ${bytes} bytes: ${JSON.stringify({ ...result, bytesEach })}`,
  );
}

/** Requests that are sent once must all be answered: the rate is that of all of them. */
const isComplete = (requests: Requests, result: WrkResult): boolean =>
  requests.mode !== 'once' || result.requests === requests.list.length;

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
