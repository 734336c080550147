// Sends the requests of programs on to services, with tokens that the programs never see.

import {
  request as httpRequest,
  type IncomingMessage,
  type OutgoingMessage,
  type ServerResponse,
} from 'node:http';
import { Agent, globalAgent, request as httpsRequest } from 'node:https';
import { pipeline } from 'node:stream/promises';
import type { IssuedToken } from '@latchkey/contract/tokens';
import type { Access } from './agent-runs.ts';
import { inTime } from './clock.ts';
import { hasCode, LatchkeyError } from './errors.ts';
import { keepToken } from './kept-token.ts';
import { isLoopbackHost } from './loopback.ts';
import { connectionFailure } from './transport.ts';

/** A service that programs reach through the agent. */
export interface ForwardTarget extends Access {
  /** The first segment of the path of a request. */
  readonly name: string;
  /** The URL that its paths are below: `https`, or `http` on this machine. */
  readonly resource: string;
}

/** Of a request, with its first line, and of a response. @internal */
export const maxHeaderBytes = 32 * 1024;
const maxConcurrentRequests = 64;
/** A longer body is sent only once. */
const maxRepeatedBytes = 64 * 1024;
const bodyTimeoutMs = 10_000;

/** A backslash, and encoded dots, slashes, backslashes and control characters, which no path needs. `%u` encodes, too, for some. */
const encodedStep = /\\|%([01][\da-f]|2[ef]|5c|7f|u)/i;
/** Characters in more bytes than they need, which some decode all the same. */
const overlong = /[\xc0\xc1]|\xe0[\x80-\x9f]|[\xf0\xf8\xfc][\x80-\x8f]/;
/** What a service may drop from a segment: space, invisible and invalid characters, and what follows `;`, `?` or `#`. */
const droppedFromSegment = /[\s+\p{C}\p{DI}\ufffd]|[;?#].*/gsu;
/** A slash, and what some systems take for one. */
const separator = /[/\u2044\u2215\u2216]/;
const maxDecodings = 10;

/** Whether a service could leave its path with this one, however often it decodes it, and whatever it normalizes or drops. */
function isLeaving(path: string, decodings = 0): boolean {
  if (encodedStep.test(path) || decodings > maxDecodings) return true;
  const bytes = path.replace(/%([\da-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  if (bytes !== path) return isLeaving(bytes, decodings + 1);
  const original = Buffer.from(bytes, 'latin1').toString();
  const text = original.normalize('NFKC');
  const hasNewSteps = text.split('/').length > bytes.split('/').length || encodedStep.test(text);
  const isStep = (segment: string) => /^\.{1,2}$/.test(segment.replace(droppedFromSegment, ''));
  if (hasNewSteps || overlong.test(bytes) || text.split(separator).some(isStep)) return true;
  return text !== original && isLeaving(encodeURI(text), decodings + 1);
}

/** @see RFC 9110 section 7.6.1 */
const hopByHop = 'connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade';
/** By these some services take another path than the one of the request. */
const otherPaths = 'x-(original|rewrite)-ur[il]|(x-)?script-name|daphne-root-path|destination';
/** Host, authorization and length are set anew. With `Expect`, which the agent has answered, Node would send the headers as UTF-8. */
const notSentOn = new RegExp(
  `^(${hopByHop}|authorization|content-length|cookie|expect|forwarded|host|x-forwarded-.*|${otherPaths})$`,
  'i',
);
const notSentBack = new RegExp(`^(${hopByHop}|set-cookie)$`, 'i');
const methodsWithoutBody = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE']);

/** Keeps no connection: one that the service closes just then would fail a request that must not be repeated. */
const connections = new Agent({ ...globalAgent.options, keepAlive: false });

/** The runs whose tokens the services get. */
export interface ForwardRuns {
  make(target: ForwardTarget): Promise<IssuedToken>;
  end(token: string): void;
}

/** Forwards requests to `/NAME/…`, or refuses them. @param secrets headers with one are not sent on */
export function createForwarder(
  targets: readonly ForwardTarget[],
  runs: ForwardRuns,
  secrets: readonly string[],
) {
  const services = new Map(targets.map((target) => [target.name, openService(target, runs, secrets)]));
  const active = new Set<ServerResponse>();
  return async (
    request: IncomingMessage,
    response: ServerResponse,
    target: string,
    refuse: (status: number, error: string, description: string) => void,
  ): Promise<void> => {
    const [, name = '', path = '', query = ''] = /^\/([^/?]*)([^?]*)(.*)$/.exec(target) ?? [];
    const service = services.get(name);
    // A fragment is not part of a request.
    if (!service || path.includes('#') || isLeaving(path))
      return refuse(404, 'not_found', 'The agent has no such path.');
    const { upgrade, 'transfer-encoding': coding = 'chunked' } = request.headers;
    // TRACE would repeat the token.
    if (upgrade !== undefined || coding.toLowerCase() !== 'chunked' || request.method === 'TRACE')
      return refuse(501, 'invalid_request', 'The agent forwards no upgrade, TRACE or transfer coding.');
    if (active.size >= maxConcurrentRequests)
      return refuse(503, 'temporarily_unavailable', 'The agent is forwarding as many requests as it can.');
    active.add(response);
    try {
      await service.exchange(request, response, path, query, async (answer) => {
        // Before the program has the whole response, and may send its next request.
        answer.once('end', () => active.delete(response));
        await relay(answer, response);
      });
    } catch (error) {
      // The service's may be what could not be sent.
      response.statusMessage = '';
      // After the headers, the program has seen the response break off.
      if (!response.headersSent) refuse(...refusalOf(error, service.origin));
    } finally {
      active.delete(response);
      // What the service did not read of the body stands before the next request on the connection.
      request.unpipe();
      request.resume();
    }
  };
}

function refusalOf(error: unknown, origin: string): [status: number, error: string, description: string] {
  if (!(error instanceof LatchkeyError)) return [502, 'unreachable', connectionFailure(error, origin)];
  const isOver = hasCode(error, 'login_over', 'not_logged_in', 'account_disabled', 'invalid_token');
  const isRefused = hasCode(error, 'invalid_scope', 'invalid_target', 'insufficient_scope');
  return [isOver || isRefused ? 403 : 502, error.code, error.message];
}

function openService(target: ForwardTarget, runs: ForwardRuns, secrets: readonly string[]) {
  const url = new URL(target.resource);
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const agent = isLoopbackHost(url.hostname) ? false : connections;
  const kept = keepToken(() => runs.make(target));
  const uses = new Map<string, number>();

  /** Ends a run that has been replaced after the last request with its token. */
  const drop = (token: string): void => {
    const left = (uses.get(token) ?? 1) - 1;
    uses.set(token, left);
    if (left > 0) return;
    uses.delete(token);
    if (!kept.isCurrent(token)) runs.end(token);
  };

  const exchange = async (
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
    query: string,
    use: (answer: IncomingMessage) => Promise<void>,
  ): Promise<void> => {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const tokens: string[] = [];
    const sendWith = (token: string, body?: Buffer) =>
      new Promise<IncomingMessage>((resolve, reject) => {
        tokens.push(token);
        uses.set(token, (uses.get(token) ?? 0) + 1);
        const sent = send(url, {
          method: request.method,
          path: (path === '' ? url.pathname : url.pathname.replace(/\/$/, '') + path) + query,
          headers: ['Host', url.host, ...headersFor(request, secrets), 'Authorization', `Bearer ${token}`],
          setHost: false,
          maxHeaderSize: maxHeaderBytes,
          agent,
          signal: gone.signal,
        });
        sent.maxHeadersCount = 0;
        sent.on('response', resolve).on('error', reject);
        sent.on('close', () => reject(new Error('The service closed the connection.')));
        // The service may answer before the body begins.
        sendHeaders(sent);
        if (body) sent.end(body);
        else request.pipe(sent);
      });
    try {
      const token = await kept.accessToken(gone.signal);
      const recorded = recordBody(request);
      let answer = await sendWith(token);
      if (answer.statusCode === 401) {
        request.unpipe();
        request.resume();
        // A program may wait for the response before it sends the rest.
        const whole = inTime(recorded, bodyTimeoutMs, () => new Error('late')).catch(() => undefined);
        const [body, next] = await Promise.all([whole, kept.renew(token)]);
        if (body) {
          answer.destroy();
          answer = await sendWith(next, body);
        }
      }
      await use(answer);
    } finally {
      tokens.forEach(drop);
    }
  };
  return { origin: url.origin, exchange };
}

/** The whole body, once it has been received. Undefined if it is too long to be kept, or incomplete. */
function recordBody(request: IncomingMessage): Promise<Buffer | undefined> {
  let chunks: Buffer[] = [];
  let bytes = 0;
  return new Promise((resolve) => {
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.byteLength;
      if (bytes <= maxRepeatedBytes) return chunks.push(chunk);
      chunks = [];
      return resolve(undefined);
    });
    request.on('end', () => resolve(Buffer.concat(chunks)));
    request.on('close', () => resolve(undefined));
  });
}

function headersFor(request: IncomingMessage, secrets: readonly string[]): string[] {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
  const headers = endToEnd(request, notSentOn, secrets);
  if (coding !== undefined) return [...headers, 'Transfer-Encoding', 'chunked'];
  if (length === undefined && methodsWithoutBody.has(request.method ?? '')) return headers;
  // Without a length, the runtime would send an empty body in chunks.
  return [...headers, 'Content-Length', length ?? '0'];
}

/** Many services read an underscore in a name as a hyphen. */
function endToEnd(
  { rawHeaders, headers }: IncomingMessage,
  dropped: RegExp,
  secrets: readonly string[] = [],
): string[] {
  const nominated = new Set(headers.connection?.toLowerCase().split(/[\s,]+/));
  const isKept = (name = '', value = '') =>
    !dropped.test(name.replaceAll('_', '-')) &&
    !nominated.has(name.toLowerCase()) &&
    !secrets.some((secret) => value.includes(secret));
  return rawHeaders.filter((_, at) => isKept(rawHeaders[at - (at % 2)], rawHeaders[at - (at % 2) + 1]));
}

/** `flushHeaders` would write what is not ASCII as UTF-8. */
const sendHeaders = (message: OutgoingMessage): boolean => message.write('', 'latin1');

async function relay(answer: IncomingMessage, response: ServerResponse): Promise<void> {
  response.sendDate = false;
  response.writeHead(answer.statusCode ?? 0, answer.statusMessage, endToEnd(answer, notSentBack));
  sendHeaders(response);
  await pipeline(answer, response);
}
