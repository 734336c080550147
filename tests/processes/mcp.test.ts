// The guide for servers of the Model Context Protocol, as a process. The protocol's own client, which knows only its URL and who
// it is itself, signs its user in.

import { beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { exchangeToken } from '@latchkey/client/token-exchange';
import { openTokenSession } from '@latchkey/client/token-session';
import type { AuthorizationParameters } from '@latchkey/contract/authorize';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { spawn } from '#support/cleanup.ts';
import { examples, startExample } from '#support/example.ts';
import { allBlocks, exampleText, openTerminal, readerOf } from '#support/guides.ts';
import { mcpProvider } from '#support/mcp-provider.ts';
import { startProgram } from '#support/program.ts';
import { reservePort } from '#support/reserved-port.ts';
import { registerService, startService } from '#support/service.ts';
import { shared } from '#support/shared.ts';
import { until } from '#support/until.ts';
import { linesOf } from '#support/worker.ts';

const redirectUri = 'http://127.0.0.1/callback';
const port = reservePort();
const resource = `http://localhost:${port}/mcp`;

const program = shared(async () => startProgram());
const service = shared(() => startService({ env: { LATCHKEY_CLIENT_HOSTS: program.host } }));
/** Of a service that the operator gave a redirect URI: the client that is registered here. */
let registeredId: string;
let person: string;

shared(async () => {
  const [commands] = await allBlocks('docs/mcp.md', 'sh', 1);
  const terminal = openTerminal(readerOf(service), { 'http://localhost:3000/mcp': resource });
  const serviceKey = (await terminal.run(commands)).output.trim().split('\n').at(-1)!;
  const settings = { LATCHKEY_SERVER: service.url, SERVICE_KEY: serviceKey };
  return startExample([process.execPath, join(examples, 'mcp.ts')], settings, port);
});

beforeAll(async () => {
  registeredId = await register('desk', redirectUri);
  person = (await service.login('ada@example.com')).access_token;
});

/** Registers a client, and returns its ID. */
const register = (name: string, redirect: string): Promise<string> =>
  registerService(service, name, '--redirect', redirect, '--public');

/** Approves like the page, and returns the way back to the client. */
async function approve(url: URL): Promise<URL> {
  expect(url.origin).toBe(service.url);
  const body = Object.fromEntries(url.searchParams) as AuthorizationParameters;
  const { scope } = await service.api.call('verifyAuthorization', { accessToken: person, body });
  const answer = await service.api.call('approveAuthorization', {
    accessToken: person,
    body: { ...body, scope },
  });
  if (!('redirect' in answer)) throw new Error('no redirect');
  return new URL(answer.redirect);
}

function newClient(clientId: string, redirectUrl: string) {
  const kept = mcpProvider(clientId, redirectUrl);
  const connect = async () => {
    const transport = new StreamableHTTPClientTransport(new URL(resource), { authProvider: kept.provider });
    const client = new Client({ name: 'notebook', version: '1.0.0' });
    // Its type has no `undefined` where this project's settings require one.
    const connected = client.connect(transport as Parameters<typeof client.connect>[0]);
    return connected.then(
      () => ({ client, transport }),
      (error) => {
        if (error instanceof UnauthorizedError) return { client: undefined, transport };
        throw error;
      },
    );
  };
  /** Replaces the access token by one that the server refuses like an expired one. */
  const expire = () => {
    if (kept.held) kept.held = { ...kept.held, access_token: 'lk_at_expired' };
  };
  return Object.assign(kept, { connect, expire });
}

async function signIn(client: ReturnType<typeof newClient>): Promise<Client> {
  const { transport } = await client.connect();
  const back = await approve(client.requested.at(-1)!);
  await transport.finishAuth(back.searchParams.get('code')!);
  const { client: connected } = await client.connect();
  return connected!;
}

const listProjects = async (client: Client) =>
  JSON.stringify((await client.callTool({ name: 'list_projects' })).content);

test('the guide shows the whole server', async () => {
  expect(await allBlocks('docs/mcp.md', 'ts', 1)).toEqual([await exampleText('mcp.ts')]);
});

test('a page of another origin may ask, and only with a token that is bound to the resource', async () => {
  const Origin = 'https://page.example';
  const ask = (method: string, headers: Record<string, string>, body: string | null = null) =>
    fetch(resource, { method, headers: { Origin, ...headers }, body });
  const preflight = await ask('OPTIONS', {
    'Access-Control-Request-Method': 'POST',
    'Access-Control-Request-Headers': 'authorization,content-type',
  });
  expect([preflight.status, preflight.headers.get('Access-Control-Allow-Origin')]).toEqual([204, '*']);
  expect(preflight.headers.get('Access-Control-Allow-Headers')).toStartWith('Authorization, Content-Type');
  const refused = await ask('POST', { Authorization: `Bearer ${person}` });
  expect([refused.status, refused.headers.get('Access-Control-Allow-Origin')]).toEqual([401, '*']);
  expect(refused.headers.get('Access-Control-Expose-Headers')).toBe('WWW-Authenticate');
  expect(refused.headers.get('WWW-Authenticate')).toContain('error="invalid_token"');

  const api = service.api;
  const session = openTokenSession({ api, token: person });
  const { access_token } = await exchangeToken({ api, session, scope: 'projects:read', resource });
  const headers = {
    Authorization: `Bearer ${access_token}`,
    Accept: 'application/json, text/event-stream',
    'Content-Type': 'application/json',
  };
  const accepted = await ask('POST', headers, '{"jsonrpc":"2.0","id":1,"method":"tools/list"}');
  expect([accepted.status, await accepted.text()]).toEqual([200, expect.stringContaining('list_projects')]);
});

describe.each([
  ['that describes itself at a URL', () => [program.clientId, program.redirectUri]],
  ['that the operator registered', () => [registeredId, redirectUri]],
] as const)('a client %s', (_, identity) => {
  test('signs its user in by the URL of the server alone, calls a tool, refreshes, and is out when revoked', async () => {
    const [clientId, redirectUrl] = identity();
    const notebook = newClient(clientId!, redirectUrl!);
    const client = await signIn(notebook);
    const [request] = notebook.requested;
    expect(Object.fromEntries(request!.searchParams)).toMatchObject({
      client_id: clientId,
      resource,
      scope: 'projects:read',
      code_challenge_method: 'S256',
    });
    expect(await listProjects(client)).toContain('The projects of usr_');

    const first = notebook.held;
    expect(first).toMatchObject({ scope: 'projects:read', expires_in: expect.any(Number) });
    notebook.expire();
    expect(await listProjects(client)).toContain('The projects of usr_');
    expect(notebook.held?.refresh_token).not.toBe(first?.refresh_token);
    expect(notebook.requested).toHaveLength(1);

    const api = service.api;
    const { sessions } = await api.call('listSessions', { accessToken: person });
    const { id } = sessions.find(({ client_id }) => client_id === clientId)!;
    await api.call('revokeSession', { accessToken: person, params: { id } });
    const isRefused = () =>
      listProjects(client).then(
        () => false,
        (error) => error instanceof UnauthorizedError,
      );
    await until(isRefused, 'the refusal of the token');
    expect(notebook.requested).toHaveLength(2);
    expect(notebook.held).toBeUndefined();
  });
});

test("the protocol's own conformance suite finds no fault with the authorization server", async () => {
  const port = reservePort();
  const suite = Bun.fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js'));
  const callback = `http://127.0.0.1:${port}/callback`;
  const clientId = await register('suite', callback);
  const child = spawn(
    [
      ...[process.execPath, suite, 'authorization', '--url', service.url, '--client-id', clientId],
      ...['--resource', resource, '--port', String(port), '--verbose'],
    ],
    { stdout: 'pipe', stderr: 'inherit' },
  );
  let output = '';
  for await (const line of linesOf(child.stdout)) {
    output += `${line}\n`;
    const link = /^http\S+\/authorize\?\S+$/.exec(line)?.[0];
    if (link) await fetch(await approve(new URL(link)));
  }
  // biome-ignore lint/suspicious/noConsole: the suite's own words about each scenario
  console.log(output.slice(output.indexOf('=== SUMMARY')));
  expect(await child.exited).toBe(0);
  expect(output).toContain('authorization-code-grant: 1 passed, 0 failed');
});
