// The agent as a process that forwards requests on each runtime, under load.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Home, newHome, startAgentOn, storeLogin } from '#support/cli.ts';
import { sendTo } from '#support/forwarding.ts';
import { nodes } from '#support/node.ts';
import { registerService, startService } from '#support/service.ts';
import { shared } from '#support/shared.ts';
import { memoryOf } from '../../bench/support/processes.ts';

const main = join(import.meta.dir, '../../packages/cli/src/main.ts');
const runtimes = [
  { name: 'Bun', command: [process.execPath, main] },
  ...nodes.map(({ major, path }) => ({
    name: `Node ${major}`,
    command: [path, '--no-warnings', '--experimental-strip-types', main],
  })),
];
const megabyte = 1_000_000;

const service = shared(() => startService());
let home: Home;
let upstream: string;
let respond: (request: IncomingMessage, response: ServerResponse) => unknown;
const server = createServer((...call) => void respond(...call));

beforeAll(async () => {
  home = newHome({ LATCHKEY_SERVER: service.url });
  await storeLogin(home, service.url, 'ada@forward.example');
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  upstream = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const offered = ['--resource', upstream, '--scope', 'tickets:read=See your tickets'];
  await registerService(service, 'tickets', ...offered);
});

afterEach(() => server.closeAllConnections());
afterAll(() => void server.close());

describe.each(runtimes)('on $name', ({ name, command }) => {
  const agent = shared(() => {
    const args = ['--listen', '127.0.0.1:0', '--forward', `tickets=${upstream} tickets:read`];
    return startAgentOn(command, home, ...args);
  });
  const url = () => new URL(agent.forwards['LATCHKEY_FORWARD_TICKETS'] ?? '');

  test.skipIf(process.platform !== 'linux')('50 MB go both ways in constant memory', async () => {
    const chunk = Buffer.alloc(64 * 1024, 'x');
    respond = (request, response) => pipeline(request, response);
    const { hostname, port, pathname } = url();
    const echo = async (bytes: number): Promise<number> => {
      const sent = request({ hostname, port, path: pathname, method: 'POST', agent: false });
      const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
      async function* body() {
        for (let left = bytes; left > 0; left -= chunk.length)
          yield chunk.subarray(0, Math.min(left, chunk.length));
      }
      const sending = pipeline(body(), sent);
      const [answer] = await answered;
      let received = 0;
      for await (const part of answer as AsyncIterable<Buffer>) received += part.length;
      await sending;
      return received;
    };
    expect(await echo(50 * megabyte)).toBe(50 * megabyte);
    // From here on the peak is counted anew.
    writeFileSync(`/proc/${agent.pid}/clear_refs`, '5');
    const before = memoryOf(agent.pid).resident;
    expect(await echo(200 * megabyte)).toBe(200 * megabyte);
    const grown = memoryOf(agent.pid).peak - before;
    expect(grown).toBeLessThan(50 * megabyte);
  });

  // What is the same on each runtime is in packages/client/src/agent-forwarder.test.ts and agent-forwarder-runs.test.ts.
  test('headers, bodies and broken responses are passed on, and 64 requests at once share one run', async () => {
    const authorizations = new Set<string | undefined>();
    respond = async (request, response) => {
      const { authorization } = request.headers;
      const body = Buffer.concat(await request.toArray());
      if (request.url === '/break') {
        response.writeHead(200, { 'Content-Length': 9 }).write('begun');
        response.socket?.destroySoon();
      } else {
        authorizations.add(authorization);
        response.writeHead(200, [...['X-Twice', '1', 'X-Twice', 'Ã©'], ...['Set-Cookie', 'a=b']]);
        response.end(`${request.method} ${request.headers['x-own']} ${request.headers['cookie']} ${body}`);
      }
    };
    const send = async (method: string, path: string, more: readonly string[] = [], body = '') => {
      const headers = ['X-Own', 'Ã©', 'Cookie', 'a', ...more];
      const answer = await sendTo(url(), path, { method, headers, body: Buffer.from(body) });
      const text = await answer.toArray().then((parts) => Buffer.concat(parts).toString(), String);
      return { status: answer.statusCode, headers: answer.rawHeaders, text };
    };
    const answer = await send('PUT', '/', ['Content-Length', '4'], 'body');
    expect(answer).toMatchObject({ status: 200, text: 'PUT Ã© undefined body' });
    expect(answer.headers.slice(0, 4)).toEqual(['X-Twice', '1', 'X-Twice', 'Ã©']);
    expect(answer.headers).not.toContain('Set-Cookie');
    const chunked = ['Transfer-Encoding', 'chunked'];
    expect((await send('GET', '/', chunked, 'body')).text).toBe('GET Ã© undefined body');
    expect(await send('HEAD', '/')).toMatchObject({ status: 200, text: '' });
    const many = await Promise.all(Array.from({ length: 64 }, () => send('POST', '/')));
    expect(many.map(({ status }) => status)).toEqual(many.map(() => 200));
    expect([...authorizations]).toEqual([expect.stringMatching(/^Bearer lk_at_/)]);

    expect((await send('GET', '/break')).text).toContain('aborted');
    const manyHeaders = Array.from({ length: 1500 }, () => ['a', '']).flat();
    for (const [status, headers] of [
      [431, ['X-Long', 'x'.repeat(32 * 1024)]],
      [501, ['Connection', 'Upgrade', 'Upgrade', 'websocket']],
      // Bun refuses so many.
      [name === 'Bun' ? 431 : 501, [...manyHeaders, 'Upgrade', 'h2c']],
    ] as const)
      expect((await send('GET', '/', headers)).status).toBe(status);
    server.closeAllConnections();
    respond = (_, response) => response.socket?.destroy();
    expect((await send('GET', '/')).status).toBe(502);
  });
});
