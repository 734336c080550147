import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  createServer,
  type OutgoingHttpHeaders,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { turns } from '#support/until.ts';
import { fetchDocument } from './fetch-document.ts';

const json = { 'Content-Type': 'application/json' };
const document = JSON.stringify({ name: 'a document' });
const maxBytes = 16 * 1024;

/** Unbounded for the client: a few bytes that become many. */
const bomb = Buffer.alloc(50 * 1024 * 1024, ' ');

async function writeAgainAndAgain(response: ServerResponse, text: string, pauseTurns: number): Promise<void> {
  for (; !response.destroyed; await turns(pauseTurns)) response.write(text);
}

/** Answers with a body. */
const sending =
  (body: string | Uint8Array, headers: OutgoingHttpHeaders = json, status = 200): RequestListener =>
  (_, response) =>
    response.writeHead(status, headers).end(body);
const encoded = (encoding: string, body: Uint8Array) =>
  sending(body, { ...json, 'Content-Encoding': encoding });

const accepted: Record<string, RequestListener> = {
  '/good': sending(document),
  '/problem+json': sending(document, { 'Content-Type': 'Application/Client+JSON; charset=utf-8' }),
  '/gzip': encoded('gzip', gzipSync(document)),
  '/deflate': encoded('deflate', deflateSync(document)),
  '/br': encoded('br', brotliCompressSync(document)),
  '/largest': sending(`"${'x'.repeat(maxBytes - 2)}"`),
};

const refused: Record<string, RequestListener> = {
  '/too-large': sending(`"${'x'.repeat(maxBytes - 1)}"`),
  '/endless': (_, response) => {
    response.writeHead(200, json);
    void writeAgainAndAgain(response, 'x'.repeat(8_192), 1);
  },
  '/gzip-bomb': encoded('gzip', gzipSync(bomb)),
  '/br-bomb': encoded('br', brotliCompressSync(bomb.subarray(0, 1_000_000))),
  '/unknown-encoding': encoded('gzip, gzip', gzipSync(gzipSync(document))),
  '/slow': () => undefined,
  '/slow-body': (_, response) => {
    response.writeHead(200, json);
    response.write('{');
    void writeAgainAndAgain(response, ' ', 100);
  },
  '/redirect': sending(document, { ...json, Location: '/good' }, 302),
  '/permanent-redirect': sending('', { Location: '/good' }, 308),
  '/not-found': sending(document, json, 404),
  '/created': sending(document, json, 201),
  '/html': sending(document, { 'Content-Type': 'text/html' }),
  '/untyped': sending(document, {}),
  '/malformed': sending('{"name":'),
  '/latin-1': sending(Buffer.from('"\u00e4"', 'latin1')),
  '/reset': (request) => request.socket.destroy(),
};
const answers = { ...accepted, ...refused };

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

  /** Others have longer than any stall of the machine takes. */
  const request = { maxBytes, timeoutMs: 100_000, allowLoopback: true };
  const fetched = (path: string, timeoutMs = request.timeoutMs) =>
    fetchDocument(new URL(path, base), { ...request, timeoutMs });

  test.each(Object.keys(accepted))('%s is fetched', async (path) => {
    const { json } = await fetched(path);
    if (path !== '/largest') expect(json).toEqual({ name: 'a document' });
  });

  test.each(Object.keys(refused))('%s is refused, in time', async (path) => {
    await (path.startsWith('/slow')
      ? expect(fetched(path, 500)).rejects.toThrow('in time')
      : expect(fetched(path)).rejects.not.toThrow('in time'));
  });

  const client = new URL('https://app.example/client');

  test('a loopback address is asked only where it is allowed, and only by http, and no name that has a private one', async () => {
    const refuses = (url: URL, more: object) =>
      expect(fetchDocument(url, { ...request, ...more })).rejects.toThrow('not public');
    await refuses(new URL('/good', base), { allowLoopback: false });
    await refuses(new URL('/good', base.replace('http:', 'https:')), {});
    for (const addresses of [['10.0.0.1'], ['93.184.216.34', '127.0.0.1'], ['::ffff:127.0.0.1'], []])
      await refuses(client, { resolve: async () => addresses });
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
    const resolve = () => new Promise<string[]>(() => undefined);
    const timeoutMs = 500;
    await expect(fetchDocument(client, { ...request, timeoutMs, resolve })).rejects.toThrow('in time');
  });
});
