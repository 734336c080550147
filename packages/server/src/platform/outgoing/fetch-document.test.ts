import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { turns } from '../../../../../tests/support/turns.ts';
import { fetchDocument } from './fetch-document.ts';

const json = { 'Content-Type': 'application/json' };
const document = JSON.stringify({ name: 'a document' });
const maxBytes = 16 * 1024;

/** Unbounded for the client: a few bytes that become many. */
const bomb = Buffer.alloc(50 * 1024 * 1024, ' ');

async function writeAgainAndAgain(response: ServerResponse, text: string, pauseTurns: number): Promise<void> {
  for (; !response.destroyed; await turns(pauseTurns)) response.write(text);
}

const answers: Record<string, RequestListener> = {
  '/good': (_, response) => response.writeHead(200, json).end(document),
  '/problem+json': (_, response) =>
    response.writeHead(200, { 'Content-Type': 'Application/Client+JSON; charset=utf-8' }).end(document),
  '/gzip': (_, response) =>
    response.writeHead(200, { ...json, 'Content-Encoding': 'gzip' }).end(gzipSync(document)),
  '/deflate': (_, response) =>
    response.writeHead(200, { ...json, 'Content-Encoding': 'deflate' }).end(deflateSync(document)),
  '/br': (_, response) =>
    response.writeHead(200, { ...json, 'Content-Encoding': 'br' }).end(brotliCompressSync(document)),
  '/largest': (_, response) => response.writeHead(200, json).end(`"${'x'.repeat(maxBytes - 2)}"`),

  '/too-large': (_, response) => response.writeHead(200, json).end(`"${'x'.repeat(maxBytes - 1)}"`),
  '/endless': (_, response) => {
    response.writeHead(200, json);
    void writeAgainAndAgain(response, 'x'.repeat(8_192), 1);
  },
  '/gzip-bomb': (_, response) =>
    response.writeHead(200, { ...json, 'Content-Encoding': 'gzip' }).end(gzipSync(bomb)),
  '/br-bomb': (_, response) =>
    response
      .writeHead(200, { ...json, 'Content-Encoding': 'br' })
      .end(brotliCompressSync(bomb.subarray(0, 1_000_000))),
  '/unknown-encoding': (_, response) =>
    response.writeHead(200, { ...json, 'Content-Encoding': 'gzip, gzip' }).end(gzipSync(gzipSync(document))),
  '/slow': () => undefined,
  '/slow-body': (_, response) => {
    response.writeHead(200, json);
    response.write('{');
    void writeAgainAndAgain(response, ' ', 100);
  },
  '/redirect': (_, response) => response.writeHead(302, { ...json, Location: '/good' }).end(document),
  '/permanent-redirect': (_, response) => response.writeHead(308, { Location: '/good' }).end(),
  '/not-found': (_, response) => response.writeHead(404, json).end(document),
  '/created': (_, response) => response.writeHead(201, json).end(document),
  '/html': (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end(document),
  '/untyped': (_, response) => response.writeHead(200).end(document),
  '/malformed': (_, response) => response.writeHead(200, json).end('{"name":'),
  '/latin-1': (_, response) => response.writeHead(200, json).end(Buffer.from('"\u00e4"', 'latin1')),
  '/reset': (request) => request.socket.destroy(),
};

describe('a document that others choose', () => {
  let server: Server;
  let base: string;
  beforeAll(async () => {
    server = createServer((request, response) => answers[request.url ?? '']?.(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  const request = { maxBytes, timeoutMs: 500, allowLoopback: true };
  const fetched = (path: string) => fetchDocument(new URL(path, base), request);

  for (const path of Object.keys(answers).slice(0, 6))
    test(`${path} is fetched`, async () => {
      const { json } = await fetched(path);
      if (path !== '/largest') expect(json).toEqual({ name: 'a document' });
    });

  for (const path of Object.keys(answers).slice(6))
    test(`${path} is refused, in time`, async () => {
      await expect(fetched(path)).rejects.toThrow();
    });

  test('a loopback address is asked only where it is allowed, and only by http', async () => {
    await expect(fetchDocument(new URL('/good', base), { ...request, allowLoopback: false })).rejects.toThrow(
      'not public',
    );
    const overTls = new URL('/good', base.replace('http:', 'https:'));
    await expect(fetchDocument(overTls, request)).rejects.toThrow('not public');
  });

  test('a name with any private address is refused, without a connection', async () => {
    for (const addresses of [['10.0.0.1'], ['93.184.216.34', '127.0.0.1'], ['::ffff:127.0.0.1'], []]) {
      const resolve = async () => addresses;
      const url = new URL('https://app.example/client');
      await expect(fetchDocument(url, { ...request, allowLoopback: true, resolve })).rejects.toThrow(
        'not public',
      );
    }
  });

  test('the connection goes to the address that was checked, whatever the name resolves to by then', async () => {
    const asked: string[] = [];
    const port = new URL(base).port;
    // A loopback name stands in for a public one: the second answer would be another machine.
    const resolve = async (host: string) => {
      asked.push(host);
      return asked.length === 1 ? ['127.0.0.1'] : ['127.0.0.9'];
    };
    const url = new URL(`http://localhost:${port}/good`);
    const { json } = await fetchDocument(url, { ...request, resolve });
    expect([json, asked]).toEqual([{ name: 'a document' }, ['localhost']]);
    await expect(fetchDocument(url, { ...request, resolve })).rejects.toThrow();
  });

  test('a name that does not resolve in time is given up', async () => {
    const url = new URL('https://app.example/client');
    const resolve = () => new Promise<string[]>(() => undefined);
    await expect(fetchDocument(url, { ...request, resolve })).rejects.toThrow('in time');
  });
});
