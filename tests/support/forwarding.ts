// An agent that forwards requests to a service of this process, over real sockets.

import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { type AgentPolicy, type RunningAgent, startAgent } from '@latchkey/client/internal/agent-server';
import { openTokenSession } from '@latchkey/client/token-session';
import { openApp } from './app.ts';
import { apiOf } from './client.ts';
import { declareService } from './services.ts';

interface Received {
  readonly method: string;
  readonly url: string;
  /** Name, value, name, value. */
  readonly headers: readonly string[];
  readonly body: string;
}

export type Respond = (request: IncomingMessage, response: ServerResponse) => unknown;

interface Ask {
  readonly method?: string;
  readonly headers?: readonly string[];
  readonly body?: string | Buffer;
  readonly of?: RunningAgent;
}

/** Sends a request with these headers alone. Resolves with the response, once its headers are there. */
export async function sendTo(
  { hostname, port, pathname }: URL,
  path: string,
  { method = 'GET', headers = [], body }: Omit<Ask, 'of'> = {},
): Promise<IncomingMessage> {
  const all = ['Host', 'agent.example', ...headers];
  const sent = request({ hostname, port, method, path: pathname + path, headers: all, agent: false });
  sent.maxHeadersCount = 0;
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return response;
}

export async function openForwarding() {
  const app = await openApp('sqlite');
  const person = await app.login();
  /** Records what arrives, and answers 200. */
  const record: Respond = async (request, response) => {
    const { method = '', url = '', rawHeaders: headers } = request;
    const chunks: Buffer[] = await request.toArray();
    scene.received.push({ method, url, headers, body: Buffer.concat(chunks).toString('latin1') });
    response.end('ok');
  };
  const service = createServer({ maxHeaderSize: 64 * 1024 }, (...call) => void scene.respond(...call));
  service.listen(0, '127.0.0.1');
  await once(service, 'listening');
  const host = `127.0.0.1:${(service.address() as AddressInfo).port}`;
  const resource = `http://${host}/v1`;
  const scopes = ['tickets:read', 'tickets:write'];
  const { authorization } = await declareService(app.ctx, {
    resource,
    scopes: scopes.map((name) => ({ name, sentence: 'Use your tickets' })),
  });

  const start = (
    policy: Partial<AgentPolicy> = {},
    { token = person.access_token, fetch = app.fetch } = {},
  ): Promise<RunningAgent> => {
    const api = apiOf(app, fetch);
    const forwards = [{ name: 'tickets', resource, scopes }];
    return startAgent(
      { api, session: openTokenSession({ api, token }) },
      { scopes: [], resource: undefined, forwards, maxLifetimeSeconds: 900, isAllowed: undefined, ...policy },
      { port: 0, needsForwardPort: false, runtimeDirectory: undefined },
    );
  };
  const agent = await start();

  const baseOf = ({ variables }: RunningAgent): URL =>
    new URL((variables['LATCHKEY_FORWARD_TICKETS'] ?? '').replace(/\/tickets$/, ''));

  /** The response, once its headers are there. The path begins with the name of the service. */
  const open = (path: string, { of = agent, ...ask }: Ask = {}) => sendTo(baseOf(of), `/${path}`, ask);

  const scene = {
    app,
    person,
    host,
    resource,
    /** The `Authorization` header of the service. */
    authorization,
    start,
    agent,
    base: baseOf(agent),
    open,
    record,
    /** How the service answers. */
    respond: record,
    /** What the service has recorded. */
    received: [] as Received[],
    reset: (): void => {
      scene.respond = record;
      scene.received = [];
    },
    send: async (path: string, ask: Ask = {}) => {
      const response = await open(path, ask);
      const chunks: Buffer[] = await response.toArray();
      const { statusCode: status, rawHeaders: headers } = response;
      return { status, headers, text: Buffer.concat(chunks).toString('latin1') };
    },
    /** What comes back for bytes, until the connection is closed. */
    sendBytes: async (text: string): Promise<string> => {
      const { hostname, port } = baseOf(agent);
      const socket = connect(Number(port), hostname);
      socket.write(text);
      let answer = '';
      socket.on('data', (chunk) => {
        answer += chunk;
      });
      await once(socket, 'close');
      return answer;
    },
    introspect: async (token: string) =>
      (await app.ask('POST', '/introspect', { json: { token }, headers: { Authorization: authorization } }))
        .body,
    runs: async () =>
      (await app.ask('GET', '/sessions', { token: person.access_token })).body.sessions.filter(
        ({ kind }: { kind: string }) => kind === 'run',
      ),
    close: async (): Promise<void> => {
      await agent.stop();
      service.closeAllConnections();
      service.close();
      await app.close();
    },
  };
  return scene;
}

export const valuesOf = (headers: readonly string[], name: string): string[] =>
  headers.filter((_, at) => at % 2 === 1 && headers[at - 1]?.toLowerCase() === name.toLowerCase());

export const tokenIn = ({ headers }: Pick<Received, 'headers'>): string =>
  valuesOf(headers, 'Authorization')[0]?.replace('Bearer ', '') ?? '';
