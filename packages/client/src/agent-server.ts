// Keeps this machine's login for other programs, and hands out tokens that allow less, or only their use.

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { IssuedToken } from '@latchkey/contract/tokens';
import { createForwarder, type ForwardRuns, type ForwardTarget, maxHeaderBytes } from './agent-forwarder.ts';
import { type Access, agentLifetimeSeconds, createRuns } from './agent-runs.ts';
import type { Api } from './api.ts';
import { inTime } from './clock.ts';
import { hasCode, LatchkeyError } from './errors.ts';
import { readBody, requestTimeoutMs, startListening } from './loopback-listener.ts';
import { canonicalResource, isSameResource } from './resource.ts';
import type { Session } from './session.ts';
import { systemReason } from './storage/store-failure.ts';
import { parseJson } from './transport.ts';

/** What the agent may hand out. */
export interface AgentPolicy {
  /** Without any, each request names its own; an agent that forwards requests then hands out no tokens. */
  readonly scopes: readonly string[];
  readonly resource: string | undefined;
  /** 60 to 900. */
  readonly maxLifetimeSeconds: number;
  readonly forwards: readonly ForwardTarget[];
  /** Asks the person before the first token with this access. Undefined: no question is asked. */
  readonly isAllowed: ((access: AskedAccess) => Promise<boolean>) | undefined;
}

/** What a program asks for, in one spelling. */
export interface AskedAccess extends Access {
  /** In alphabetical order, each once. */
  readonly scopes: readonly string[];
  /** The name of the forwarded service that the token is for. Undefined: the program gets the token. */
  readonly forwardedAs: string | undefined;
  /** @throws {LatchkeyError} `invalid_scope`, `invalid_target` for what the service would refuse, so that nobody is asked about it */
  requirePossible(): Promise<void>;
}

export interface RunningAgent {
  /** For programs that use it: `LATCHKEY_AGENT`, and with a port `LATCHKEY_FORWARD_…` for each forwarded service. */
  readonly variables: Readonly<Record<string, string>>;
  /** Stops answering, and ends every run. False if the server did not confirm that for each. */
  stop(): Promise<boolean>;
}

const secretBytes = 32;
const directoryPrefix = 'latchkey-agent-';
const socketName = 'socket';
/** On macOS; Linux takes 107. @see unix(4) */
const maxSocketPathBytes = 103;
/** Names are shown to the person who is asked. */
const scopeName = /^[a-z][a-z0-9_.:-]{0,63}$/;

export interface AgentPlaces {
  /** Of the agent, instead of a socket. 0 for any that is free. */
  readonly port: number | undefined;
  /** Whether there is a port for forwarded requests beside the socket. */
  readonly needsForwardPort: boolean;
  /** Where to create the socket's directory, if there is one. */
  readonly runtimeDirectory: string | undefined;
}

/**
 * Listens on a socket that only this user reaches, or on a loopback port for those who know its secret.
 * @throws {LatchkeyError} if requests cannot be forwarded as the policy says; the system's error if it cannot listen there
 */
export async function startAgent(
  connection: { readonly api: Api; readonly session: Session },
  policy: AgentPolicy,
  { port, needsForwardPort, runtimeDirectory }: AgentPlaces,
): Promise<RunningAgent> {
  const runs = createRuns(connection);
  for (const target of policy.forwards) {
    await runs.requirePossible(target).catch((error: unknown) => {
      if (!hasCode(error, 'invalid_scope', 'invalid_target')) throw error;
      throw new LatchkeyError(error.code, `Requests to ${target.name} cannot be forwarded: ${error.message}`);
    });
  }
  const makeRun = async (access: Access, expiresInSeconds: number, forwardedAs?: string) => {
    const asked = { resource: access.resource, scopes: [...new Set(access.scopes)].sort(), forwardedAs };
    const requirePossible = () => runs.requirePossible(access);
    if (policy.isAllowed && !(await policy.isAllowed({ ...asked, requirePossible })))
      throw new LatchkeyError('invalid_scope', `The agent's user has not allowed ${asked.scopes.join(' ')}.`);
    return runs.make(access, expiresInSeconds);
  };
  const { server } = connection.api;
  const issue = async (wanted: unknown): Promise<IssuedToken> => {
    const { expiresInSeconds, ...access } = allowedAccess(policy, server, wanted);
    return makeRun(access, expiresInSeconds);
  };
  const secret = randomBytes(secretBytes).toString('base64url');
  const forwardRuns: ForwardRuns = {
    make: (target) => makeRun(target, policy.maxLifetimeSeconds, target.name),
    // A run that does not end now ends with the agent.
    end: (token) => void runs.end(token).catch(() => {}),
  };
  const secrets = [secret, ...policy.forwards.map(({ name }) => secretOf(name, secret))];
  const forward = createForwarder(policy.forwards, forwardRuns, secrets);

  const open = (at: number | undefined) => {
    const own = at === undefined ? undefined : secret;
    const handle = (request: IncomingMessage, response: ServerResponse) =>
      void answer(request, response, own, server, issue, forward).catch(() => response.destroy());
    return listen(createAgentServer(handle), at, runtimeDirectory);
  };
  const onSocket = port === undefined ? await open(undefined) : undefined;
  const onPort = port === undefined && !needsForwardPort ? undefined : await open(port ?? 0);
  const base = `http://${onPort?.name}`;
  const urls = (onPort ? policy.forwards : []).map(({ name }) => [
    `LATCHKEY_FORWARD_${name.toUpperCase().replaceAll('-', '_')}`,
    `${base}/${secretOf(name, secret)}/${name}`,
  ]);
  return {
    variables: { LATCHKEY_AGENT: onSocket?.name ?? `${base}#${secret}`, ...Object.fromEntries(urls) },
    stop: async () => {
      const areEnded = await runs.stop();
      for (const place of [onSocket, onPort]) {
        place?.server.close();
        place?.server.closeAllConnections();
        place?.remove();
      }
      return areEnded;
    },
  };
}

/**
 * A directory for the socket, 0700 whatever the umask says, in the first of the usual places where that can be created, and where
 * the path of a socket is not too long: Node would cut it off and listen elsewhere.
 */
function makeDirectory(runtimeDirectory = tmpdir()): string {
  const isShort = (parent: string) =>
    Buffer.byteLength(join(parent, `${directoryPrefix}XXXXXX`, socketName)) <= maxSocketPathBytes;
  const parents = [...new Set([runtimeDirectory, tmpdir(), '/tmp'])].filter(isShort);
  let failure: unknown;
  for (const parent of parents) {
    try {
      return mkdtempSync(join(parent, directoryPrefix));
    } catch (error) {
      failure = error;
    }
  }
  throw new Error(`no directory can be created in ${parents.join(', ')}: ${systemReason(failure)}`);
}

async function listen(server: Server, port: number | undefined, runtimeDirectory: string | undefined) {
  if (port !== undefined) {
    const bound = await startListening(server, { host: '127.0.0.1', port, exclusive: true });
    return { server, name: `127.0.0.1:${bound}`, remove: () => {} };
  }
  const directory = makeDirectory(runtimeDirectory);
  const remove = () => rmSync(directory, { recursive: true, force: true });
  const path = join(directory, socketName);
  try {
    await startListening(server, { path });
    chmodSync(path, 0o600);
  } catch (error) {
    remove();
    throw error;
  }
  return { server, name: path, remove };
}

function createAgentServer(handle: (request: IncomingMessage, response: ServerResponse) => void): Server {
  const server = createServer({ maxHeaderSize: maxHeaderBytes }, handle);
  server.on('connect', (_, socket) => {
    socket.on('error', () => {});
    socket.end('HTTP/1.1 501 Not Implemented\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
  });
  // Beyond a count, Node reads a request without the rest of its headers, such as the length of its body.
  server.maxHeadersCount = 0;
  server.headersTimeout = requestTimeoutMs;
  // What is forwarded may take longer.
  server.requestTimeout = 0;
  return server;
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  secret: string | undefined,
  server: string,
  issue: (wanted: unknown) => Promise<IssuedToken>,
  forward: ReturnType<typeof createForwarder>,
): Promise<void> {
  const send = (status: number, body: object) => {
    const headers = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' };
    response.writeHead(status, headers).end(JSON.stringify(body));
  };
  const refuse = (status: number, error: string, error_description: string) =>
    send(status, { error, error_description });
  // A page in a browser cannot know the secret; nor may it find out that there is an agent.
  const { origin, 'sec-fetch-site': site = 'none' } = request.headers;
  if (origin !== undefined || site !== 'none')
    return refuse(403, 'origin_not_allowed', 'Pages get nothing here.');
  const url = request.url ?? '';
  const isOwn = url === '/agent' ? request.method === 'GET' : url === '/token' && request.method === 'POST';
  if (!isOwn)
    return forward(request, response, secret === undefined ? url : withoutSecret(url, secret), refuse);
  if (secret !== undefined && !isSame(request.headers.authorization ?? '', `Bearer ${secret}`)) {
    return refuse(401, 'invalid_client', 'The agent does not accept the secret in LATCHKEY_AGENT.');
  }
  if (url === '/agent') return send(200, { server });
  try {
    const late = () => invalid('The request did not arrive in time.');
    send(200, await issue(await inTime(readJson(request), requestTimeoutMs, late)));
  } catch (error) {
    if (!(error instanceof LatchkeyError)) throw error;
    refuse(400, error.code, error.message);
  }
}

function isSame(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** Opens one forwarded service alone, for programs that have no more than its URL. The secret of the agent opens all. */
const secretOf = (name: string, secret: string): string =>
  createHmac('sha256', secret).update(name).digest('base64url');

/** The path behind a secret that opens it; empty behind another one. */
function withoutSecret(url: string, secret: string): string {
  const [, shown = '', path = '', name = ''] = /^\/([^/]*)(\/([^/?]*).*)$/.exec(url) ?? [];
  return isSame(shown, secretOf(name, secret)) || isSame(shown, secret) ? path : '';
}

const invalid = (message: string) => new LatchkeyError('invalid_request', message);

/** @throws {LatchkeyError} `invalid_request` */
async function readJson(request: IncomingMessage): Promise<unknown> {
  const body = await readBody(request);
  if (body === undefined) throw invalid('The request is too long.');
  const wanted = parseJson(body || '{}');
  if (wanted === undefined) throw invalid('The request is not JSON.');
  return wanted;
}

/** @throws {LatchkeyError} `invalid_request`, `invalid_scope`, `invalid_target` */
function allowedAccess(policy: AgentPolicy, server: string, wanted: unknown) {
  const asked = Object(wanted) as Record<string, unknown>;
  for (const name of ['server', 'scope', 'resource']) {
    if (asked[name] !== undefined && typeof asked[name] !== 'string')
      throw invalid(`${name}: must be a string.`);
  }
  if (asked['server'] !== undefined && asked['server'] !== server) {
    throw invalid(`The agent is signed in to ${server}, not to ${asked['server']}.`);
  }
  const expiresInSeconds = asked['expires_in'] ?? policy.maxLifetimeSeconds;
  if (
    !Number.isInteger(expiresInSeconds) ||
    Number(expiresInSeconds) < agentLifetimeSeconds.min ||
    Number(expiresInSeconds) > policy.maxLifetimeSeconds
  ) {
    const { maxLifetimeSeconds: max } = policy;
    throw invalid(`A token of the agent can expire in ${agentLifetimeSeconds.min} to ${max} seconds.`);
  }
  const scopes = allowedScopes(policy, String(asked['scope'] ?? ''));
  const resource = allowedResource(policy, asked['resource'] as string | undefined);
  return { scopes, resource, expiresInSeconds: Number(expiresInSeconds) };
}

function allowedScopes({ scopes, forwards }: AgentPolicy, text: string): readonly string[] {
  if (scopes.length === 0 && forwards.length > 0)
    throw new LatchkeyError('invalid_scope', 'The agent only forwards requests, and hands out no tokens.');
  const names = [...new Set(text.split(/\s+/).filter((name) => name !== ''))];
  const wanted = names.length === 0 ? scopes : names;
  if (wanted.length === 0) throw new LatchkeyError('invalid_scope', 'The agent needs a scope.');
  const refused = wanted.filter(
    (name) => !scopeName.test(name) || (scopes.length > 0 && !scopes.includes(name)),
  );
  if (refused.length === 0) return wanted;
  throw new LatchkeyError('invalid_scope', `The agent does not hand out ${refused.join(' ')}.`);
}

function allowedResource(policy: AgentPolicy, wanted: string | undefined): string | undefined {
  if (wanted !== undefined && !URL.canParse(wanted))
    throw new LatchkeyError('invalid_target', 'A resource is a URI.');
  const resource = wanted ?? policy.resource;
  if (resource === undefined) return undefined;
  if (policy.resource === undefined || isSameResource(resource, policy.resource)) {
    return canonicalResource(resource);
  }
  throw new LatchkeyError('invalid_target', `The agent does not hand out tokens for ${wanted}.`);
}
