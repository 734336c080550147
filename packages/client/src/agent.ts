// Asks `latchkey agent` for tokens: over its socket, or over a loopback port with its secret.

import { type IncomingMessage, request } from 'node:http';
import { isAbsolute } from 'node:path';
import type { IssuedToken } from '@latchkey/contract/tokens';
import { checkedAnswer, isIssuedToken, isText, objectWith } from './answers.ts';
import { originOf } from './api.ts';
import { unlessAborted } from './clock.ts';
import { LatchkeyError, type LatchkeyErrorCode } from './errors.ts';
import { keepToken } from './kept-token.ts';
import { readBody } from './loopback-listener.ts';
import { authorizedCalls, type CallOptions, type Session } from './session.ts';
import { sharedWork } from './shared-work.ts';
import type { WantedToken } from './token-exchange.ts';
import { maxAnswerBytes, parseJson } from './transport.ts';

/** A program of the same person that keeps their login and hands out tokens that allow less. */
export interface Agent {
  /** The service whose tokens it hands out. */
  readonly server: string;
  /** @throws {LatchkeyError} `invalid_scope`, `invalid_target`, `login_over`, `unreachable` */
  token(request?: WantedToken): Promise<IssuedToken>;
}

/** A person may have to be asked first. */
const timeoutMs = 300_000;

/**
 * Connects to the agent at the address in `LATCHKEY_AGENT`: an absolute path, or `http://127.0.0.1:PORT#SECRET`.
 * @throws {TypeError} for any other address; {LatchkeyError} `unreachable`
 * @example
 * const agent = await connectAgent(process.env.LATCHKEY_AGENT);
 * const { access_token } = await agent.token({ scope: 'projects:read' });
 */
export async function connectAgent(address: string, signal?: AbortSignal): Promise<Agent> {
  const target = targetOf(address);
  const answer = await ask(target, 'GET', '/agent', undefined, signal);
  const { server } = checkedAnswer<{ server: string }>(answer, isAgent, notAgent(target.name));
  return { server, token: (wanted = {}) => requestToken(target, wanted) };
}

const isAgent = objectWith({ server: (address) => isText(address) && originOf(address) === address });

export interface AgentSessionOptions extends CallOptions, Omit<WantedToken, 'signal'> {
  /** The value of `LATCHKEY_AGENT`. */
  readonly address: string;
}

/**
 * A session whose tokens come from an agent. Nothing is stored, and logging out only forgets the token.
 * @throws {TypeError} if the address is not that of an agent
 * @example
 * const session = openAgentSession({ api, address: process.env.LATCHKEY_AGENT, scope: 'projects:read' });
 */
export function openAgentSession({ address, ...options }: AgentSessionOptions): Session {
  const target = targetOf(address);
  const { api, scope, resource, expiresInSeconds } = options;
  const wanted = { server: api.server, scope, resource, expiresInSeconds };
  const kept = keepToken((signal) => requestToken(target, { ...wanted, signal }));
  const calls = authorizedCalls(options, {
    accessToken: ({ signal } = {}) => kept.accessToken(signal),
    renew: (rejected, { signal } = {}) => kept.renew(rejected, signal),
  });
  return { ...calls, logout: async () => kept.forget() };
}

/**
 * A session of the server that the agent is signed in to, which the first call asks it for. `server` is empty until then.
 * @param open opens the session of this server
 * @internal
 */
export function openSessionOfAgent(address: string, open: (server: string) => Session): Session {
  targetOf(address);
  let opened: Session | undefined;
  const openOnce = sharedWork(async (_, signal) => {
    const { server } = await connectAgent(address, signal);
    opened ??= open(server);
    return opened;
  });
  const session = async (signal: AbortSignal | null | undefined): Promise<Session> =>
    opened ?? openOnce('session', signal ?? undefined);
  return {
    get server() {
      return opened?.server ?? '';
    },
    accessToken: async (options) => (await session(options?.signal)).accessToken(options),
    renew: async (rejected, options) => (await session(options?.signal)).renew(rejected, options),
    call: async (id, input) => (await session(input?.signal)).call(id, input),
    callWithHeaders: async (id, input) => (await session(input?.signal)).callWithHeaders(id, input),
    fetch: async (input, init) => (await session(init?.signal)).fetch(input, init),
    logout: async (options) => opened?.logout(options),
  };
}

/** Node would cut a longer one off, and connect to another socket. @see unix(7) */
const maxSocketPathBytes = 107;

interface Target {
  /** For messages, without the secret. */
  readonly name: string;
  readonly connection: { readonly socketPath: string } | { readonly host: string; readonly port: number };
  readonly secret: string | undefined;
}

/** @throws {TypeError} */
function targetOf(given: string): Target {
  const address = given.trim();
  if (isAbsolute(address)) {
    if (new TextEncoder().encode(address).length > maxSocketPathBytes) {
      const limit = `The path in LATCHKEY_AGENT is longer than that of a socket can be: ${maxSocketPathBytes} bytes.`;
      throw new TypeError(limit);
    }
    return { name: address, connection: { socketPath: address }, secret: undefined };
  }
  const [, port, secret] = /^http:\/\/127\.0\.0\.1:(\d{1,5})\/?#([\w-]{20,})$/.exec(address) ?? [];
  if (port === undefined || Number(port) > 65_535) {
    throw new TypeError('LATCHKEY_AGENT is not an absolute path, nor http://127.0.0.1:PORT#SECRET.');
  }
  return { name: `127.0.0.1:${port}`, connection: { host: '127.0.0.1', port: Number(port) }, secret };
}

async function requestToken(
  target: Target,
  { signal, expiresInSeconds, ...wanted }: WantedToken & { readonly server?: string },
): Promise<IssuedToken> {
  const answer = await ask(target, 'POST', '/token', { ...wanted, expires_in: expiresInSeconds }, signal);
  return checkedAnswer(answer, isIssuedToken, notAgent(target.name));
}

const notAgent = (name: string): string => `${name} is not an agent.`;

/** @throws {LatchkeyError} the agent's refusal; `unreachable`, `not_latchkey`, `aborted` */
function ask(
  { name, connection, secret }: Target,
  method: 'GET' | 'POST',
  path: string,
  body: object | undefined,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  const headers = {
    ...(secret === undefined ? {} : { Authorization: `Bearer ${secret}` }),
    ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
  };
  const options = { ...connection, method, path, headers, agent: false, timeout: timeoutMs, signal };
  const answer = new Promise((resolve, reject) => {
    const sent = request(options, (response) => {
      receive(response, name).then(resolve, reject);
    });
    sent.on('timeout', () => sent.destroy(new Error('no answer in time')));
    sent.on('error', (cause) =>
      reject(new LatchkeyError('unreachable', `The agent at ${name} does not answer.`, { cause })),
    );
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
  return unlessAborted(answer, signal);
}

async function receive(response: IncomingMessage, name: string): Promise<unknown> {
  const text = await readBody(response, maxAnswerBytes).catch((cause: unknown) => {
    throw new LatchkeyError('unreachable', `The agent at ${name} did not finish its answer.`, { cause });
  });
  const answer = parseJson(text ?? '');
  if (response.statusCode === 200 && answer !== undefined) return answer;
  const { error, error_description } = Object(answer) as Record<string, unknown>;
  if (typeof error !== 'string' || typeof error_description !== 'string')
    throw new LatchkeyError('not_latchkey', notAgent(name));
  throw new LatchkeyError(error as LatchkeyErrorCode, error_description);
}
