// Keeps this machine's login for other programs, and hands out tokens that allow less.

import { randomBytes, timingSafeEqual } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { IssuedToken } from '@latchkey/contract/tokens';
import type { Api } from './api.ts';
import { inTime } from './clock.ts';
import { LatchkeyError } from './errors.ts';
import { readBody, requestTimeoutMs, startListening } from './loopback-listener.ts';
import { canonicalResource, isSameResource } from './resource.ts';
import { revokeToken } from './revoke-token.ts';
import type { Session } from './session.ts';
import { exchangeToken } from './token-exchange.ts';
import { parseJson } from './transport.ts';

/** What the agent may hand out. */
export interface AgentPolicy {
  /** Without any, each request names its own. */
  readonly scopes: readonly string[];
  readonly resource: string | undefined;
  /** 60 to 900. */
  readonly maxLifetimeSeconds: number;
  /** Asks the person before the first token with this access. Undefined: no question is asked. */
  readonly isAllowed: ((access: AskedAccess) => Promise<boolean>) | undefined;
}

/** What a program asks for, in one spelling. */
export interface AskedAccess {
  /** In alphabetical order, each once. */
  readonly scopes: readonly string[];
  readonly resource: string | undefined;
  /** @throws {LatchkeyError} `invalid_scope`, `invalid_target` for what the service would refuse, so that nobody is asked about it */
  requirePossible(): Promise<void>;
}

export interface RunningAgent {
  /** The value of `LATCHKEY_AGENT`. */
  readonly address: string;
  /** Stops answering, and ends every run. False if the server did not confirm that for each. */
  stop(): Promise<boolean>;
}

/** How long a token of an agent may live. @internal */
export const agentLifetimeSeconds = { min: 60, max: 900 };
/** For the server to end one run. */
const stopMs = 5_000;
const secretBytes = 32;
const directoryPrefix = 'latchkey-agent-';
const socketName = 'socket';
/** On macOS; Linux takes 107. @see unix(4) */
const maxSocketPathBytes = 103;
/** Names are shown to the person who is asked. */
const scopeName = /^[a-z][a-z0-9_.:-]{0,63}$/;

/**
 * Listens on a socket that only this user reaches, or on a loopback port for those who know its secret.
 * @param runtimeDirectory where to create the socket's directory, if there is one
 * @throws the system's error if it cannot listen there
 */
export async function startAgent(
  { api, session }: { readonly api: Api; readonly session: Session },
  policy: AgentPolicy,
  {
    port,
    runtimeDirectory,
  }: { readonly port: number | undefined; readonly runtimeDirectory: string | undefined },
): Promise<RunningAgent> {
  const issued = new Map<string, number>();
  const secret = port === undefined ? undefined : randomBytes(secretBytes).toString('base64url');
  let isStopping = false;
  const pending = new Set<Promise<unknown>>();

  const issue = async (wanted: unknown): Promise<IssuedToken> => {
    if (isStopping) throw new LatchkeyError('temporarily_unavailable', 'The agent is stopping.');
    const { scopes, resource, expiresInSeconds } = allowedAccess(policy, api.server, wanted);
    const scope = scopes.join(' ');
    const requirePossible = async () => {
      const expiresInSeconds = agentLifetimeSeconds.min;
      const { access_token } = await exchangeToken({ api, session, scope, resource, expiresInSeconds });
      await revokeToken(api, access_token, stopMs);
    };
    const asked = { scopes: [...new Set(scopes)].sort(), resource, requirePossible };
    if (policy.isAllowed && !(await policy.isAllowed(asked)))
      throw new LatchkeyError('invalid_scope', `The agent's user has not allowed ${scope}.`);
    const token = await exchangeToken({ api, session, scope, resource, expiresInSeconds });
    for (const [one, expiresAt] of issued) if (expiresAt < Date.now()) issued.delete(one);
    issued.set(token.access_token, Date.now() + token.expires_in * 1000);
    return token;
  };

  const server = createServer((request, response) => {
    const work = answer(request, response, secret, api.server, issue).catch(() => response.destroy());
    pending.add(work);
    void work.finally(() => pending.delete(work));
  });
  server.requestTimeout = requestTimeoutMs;
  const place = await listen(server, port, runtimeDirectory);
  return {
    address: secret === undefined ? place.name : `http://${place.name}#${secret}`,
    stop: async () => {
      isStopping = true;
      server.close();
      // A token that is on its way would otherwise outlive the agent.
      await inTime(Promise.all(pending), stopMs, () => new Error('late')).catch(() => {});
      server.closeAllConnections();
      place.remove();
      const ended = await Promise.allSettled(
        [...issued.keys()].map((token) => revokeToken(api, token, stopMs)),
      );
      return ended.every(({ status }) => status === 'fulfilled');
    },
  };
}

/** The first of the usual places where the path of a socket is not too long: Node would cut it off and listen elsewhere. */
function socketParent(runtimeDirectory = tmpdir()): string {
  const isShort = (parent: string) =>
    Buffer.byteLength(join(parent, `${directoryPrefix}XXXXXX`, socketName)) <= maxSocketPathBytes;
  return [runtimeDirectory, tmpdir()].find(isShort) ?? '/tmp';
}

async function listen(server: Server, port: number | undefined, runtimeDirectory: string | undefined) {
  if (port !== undefined) {
    const bound = await startListening(server, { host: '127.0.0.1', port, exclusive: true });
    return { name: `127.0.0.1:${bound}`, remove: () => {} };
  }
  // 0700, whatever the umask says.
  const directory = mkdtempSync(join(socketParent(runtimeDirectory), directoryPrefix));
  const remove = () => rmSync(directory, { recursive: true, force: true });
  const path = join(directory, socketName);
  try {
    await startListening(server, { path });
    chmodSync(path, 0o600);
  } catch (error) {
    remove();
    throw error;
  }
  return { name: path, remove };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  secret: string | undefined,
  server: string,
  issue: (wanted: unknown) => Promise<IssuedToken>,
): Promise<void> {
  const send = (status: number, body: object) => {
    const headers = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store', Connection: 'close' };
    response.writeHead(status, headers).end(JSON.stringify(body));
  };
  const refuse = (status: number, error: string, error_description: string) =>
    send(status, { error, error_description });
  // A page in a browser cannot know the secret; nor may it find out that there is an agent.
  if (request.headers.origin !== undefined) return refuse(403, 'origin_not_allowed', 'Pages get no tokens.');
  if (secret !== undefined && !isSame(request.headers.authorization ?? '', `Bearer ${secret}`)) {
    return refuse(401, 'invalid_client', 'The agent does not accept the secret in LATCHKEY_AGENT.');
  }
  if (request.method === 'GET' && request.url === '/agent') return send(200, { server });
  if (request.method !== 'POST' || request.url !== '/token') {
    return refuse(404, 'not_found', 'The agent has no such path.');
  }
  try {
    send(200, await issue(await readJson(request)));
  } catch (error) {
    if (!(error instanceof LatchkeyError)) throw error;
    refuse(400, error.code, error.message);
  }
}

function isSame(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
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

function allowedScopes({ scopes }: AgentPolicy, text: string): readonly string[] {
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
